#include "registry.h"

namespace rpcrdma::scenes {

void add_deprecated_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
