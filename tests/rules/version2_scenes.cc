#include "registry.h"

namespace rpcrdma::scenes {

void add_version2_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
