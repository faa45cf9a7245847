// For builds without the command rpcrdma, whose library requests recordings.
#include "recorder.h"

namespace rpcrdma::gui {

base::Expected<void> bring_recording(fleet::Bus& /*bus*/, const std::string& /*host*/,
                                     const std::string& /*endpoint*/, int /*seconds*/,
                                     const std::string& /*path*/,
                                     const std::function<bool()>& /*interrupted*/) {
  return base::fail("this build cannot request recordings: it was built without the command");
}

}  // namespace rpcrdma::gui
