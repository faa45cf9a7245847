#include <rpcrdma/model/file_use.h>

namespace rpcrdma::model {

void FileUse::clear() {
  server = 0;
  values.clear();
  steps.clear();
  text.clear();
  lists = false;
  access = Access::kOther;
  handle.reset();
  file = {};
  below.reset();
  name_begin = name_length = 0;
  offset.reset();
  count.reset();
  moved.reset();
  stateid.reset();
}

}  // namespace rpcrdma::model
