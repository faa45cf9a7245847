// make_rule_captures FOLDER [NAME...]: writes the captures of all breaking scenes, or of the named
// ones, to FOLDER/NAME.pcap.
// make_rule_captures --dialects FOLDER: writes the captures of the later dialects of version 2.
// make_rule_captures --sessions FOLDER: writes those of NFS sessions.
// make_rule_captures --times FOLDER: writes those of a stopped server and of an outage.
#include "dialect_scenes.h"
#include "registry.h"
#include "session_scenes.h"
#include "time_scenes.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace rpcrdma::scenes;

bool write(const std::string& folder, const std::string& name,
           const std::function<void(Scene&)>& make) {
  Scene scene;
  make(scene);
  const Bytes file = scene.pcap();
  const std::string path = folder + "/" + name + ".pcap";
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  if (!out.flush()) std::fprintf(stderr, "%s: cannot write\n", path.c_str());
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::fputs("usage: make_rule_captures [--dialects|--sessions|--times] FOLDER [NAME...]\n",
               stderr);
    return 2;
  }
  if (arguments.size() == 2 && arguments[0] == "--dialects") {
    for (const DialectScene& d : dialect_scenes()) {
      if (!write(arguments[1], d.name, d.make)) return 2;
    }
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--sessions") {
    for (const SessionScene& s : session_scenes()) {
      if (!write(arguments[1], s.name, s.make)) return 2;
    }
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--times") {
    for (const TimeScene& t : time_scenes()) {
      if (!write(arguments[1], t.name, t.make)) return 2;
    }
    return 0;
  }
  const std::vector<std::string> names(arguments.begin() + 1, arguments.end());
  for (const RuleScene& r : all_scenes()) {
    if (!names.empty() && std::find(names.begin(), names.end(), r.file()) == names.end()) continue;
    if (!write(arguments[0], r.file(), r.breaks)) return 2;
  }
  return 0;
}
