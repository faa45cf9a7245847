#include "registry.h"

namespace rpcrdma::scenes {

void add_capture_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
