#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr const char* kUncovered[] = {
    // FC
    "FC-07",
};

}  // namespace

std::span<const char* const> uncovered() {
  return kUncovered;
}

}  // namespace rpcrdma::scenes
