#include "registry.h"

namespace rpcrdma::scenes {

namespace {

constexpr const char* kUncovered[] = {
    // HDR
    "HDR-01",
    "HDR-03",
    "HDR-04",
    "HDR-05",
    "HDR-07",
    "HDR-08",
    "HDR-09",
    "HDR-10",
    // FC
    "FC-07",
    // RD
    "RD-01",
    "RD-02",
    "RD-03",
    "RD-04",
    "RD-05",
    "RD-06",
    "RD-07",
    "RD-08",
    "RD-09",
    "RD-10",
    "RD-11",
    "RD-12",
    // WR
    "WR-01",
    "WR-02",
    "WR-03",
    "WR-04",
    "WR-05",
    "WR-06",
    "WR-07",
    "WR-08",
    "WR-10",
    // RP
    "RP-01",
    "RP-02",
    "RP-03",
    "RP-04",
    "RP-05",
    // ERR
    "ERR-01",
    "ERR-02",
    "ERR-03",
    "ERR-04",
    "ERR-05",
    "ERR-06",
    "ERR-07",
    // DEP
    "DEP-01",
    "DEP-02",
    // V2
    "V2-01",
    "V2-02",
    "V2-03",
    "V2-04",
    "V2-08",
    "V2-09",
    "V2-10",
    "V2-11",
};

}  // namespace

std::span<const char* const> uncovered() {
  return kUncovered;
}

}  // namespace rpcrdma::scenes
