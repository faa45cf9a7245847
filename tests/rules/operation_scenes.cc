#include "registry.h"

namespace rpcrdma::scenes {

void add_operation_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
