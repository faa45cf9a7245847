// All frames that a store knows and that are still kept, from the first one on.
#pragma once

#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::index {

// `frames`: from Loading::frames(). Frames keep their numbers; those that a live source's buffer
// dropped are left out: Progress::gap. Errors: nothing is kept, or the file is not readable.
[[nodiscard]] capture::Expected<std::unique_ptr<capture::Source>> open_kept_frames(
    const Store& store, const std::string& frames);

}  // namespace rpcrdma::index
