#include "registry.h"

namespace rpcrdma::scenes {

void add_diagnosis_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
