#include "registry.h"

namespace rpcrdma::scenes {

void add_error_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
