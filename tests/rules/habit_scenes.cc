#include "registry.h"

namespace rpcrdma::scenes {

void add_habit_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
