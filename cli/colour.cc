#include "colour.h"

#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace rpcrdma::cli {

bool colour_wanted(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

}  // namespace rpcrdma::cli
