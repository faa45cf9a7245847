// Prints the analyzer's verdict on a capture, in a sentence or two. Usage: verdict FILE
#include <cstdio>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/verdict.h>

int main(int argc, char** argv) {
  using namespace rpcrdma;
  if (argc != 2) return 2;
  const auto source = capture::open_files({argv[1]});
  if (!source) {
    std::fprintf(stderr, "verdict: %s\n", source.error().message.c_str());
    return 2;
  }
  report::Analysis analysis;
  const auto done = analysis.pipeline().run(
      **source, [](const capture::SourceStats&) {}, 1);
  if (!done) {
    std::fprintf(stderr, "verdict: %s\n", done.error().message.c_str());
    return 2;
  }
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  std::puts(report::verdict(analysis.report()).sentence().c_str());
}
