// Provides a connection of each later dialect of version 2, with every header type of the dialect.
#pragma once

#include "scene.h"

#include <functional>
#include <string>
#include <vector>

namespace rpcrdma::scenes {

struct DialectScene {
  std::string name;    // as in wire::dialect_name(); also the name of the committed capture
  std::string reason;  // the expected evidence for the dialect
  std::function<void(Scene&)> make;
};

[[nodiscard]] const std::vector<DialectScene>& dialect_scenes();

}  // namespace rpcrdma::scenes
