// A connection of each later dialect of version 2, with every header type that it has.
#pragma once

#include "scene.h"

#include <functional>
#include <string>
#include <vector>

namespace rpcrdma::scenes {

struct DialectScene {
  std::string name;    // as wire::dialect_name() has it; of the committed capture too
  std::string reason;  // what is to tell it
  std::function<void(Scene&)> make;
};

[[nodiscard]] const std::vector<DialectScene>& dialect_scenes();

}  // namespace rpcrdma::scenes
