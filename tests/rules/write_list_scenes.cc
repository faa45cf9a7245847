#include "registry.h"

namespace rpcrdma::scenes {

void add_write_list_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
