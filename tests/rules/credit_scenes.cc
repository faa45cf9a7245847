#include "registry.h"

namespace rpcrdma::scenes {

void add_credit_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
