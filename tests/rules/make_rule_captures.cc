// make_rule_captures FOLDER [NAME...]: writes the capture of every breaking scene, or of those
// named, as FOLDER/NAME.pcap.
#include "registry.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  using namespace rpcrdma::scenes;
  if (argc < 2) {
    std::fputs("usage: make_rule_captures FOLDER [NAME...]\n", stderr);
    return 2;
  }
  const std::vector<std::string> names(argv + 2, argv + argc);
  for (const RuleScene& r : all_scenes()) {
    if (!names.empty() && std::find(names.begin(), names.end(), r.file()) == names.end()) continue;
    Scene scene;
    r.breaks(scene);
    const Bytes file = scene.pcap();
    const std::string path = std::string(argv[1]) + "/" + r.file() + ".pcap";
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()),
              static_cast<std::streamsize>(file.size()));
    if (!out.flush()) {
      std::fprintf(stderr, "%s: cannot write\n", path.c_str());
      return 2;
    }
  }
  return 0;
}
