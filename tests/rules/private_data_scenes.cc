#include "registry.h"

namespace rpcrdma::scenes {

void add_private_data_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
