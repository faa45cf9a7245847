#include "recorded_file.h"

#include <utility>
#include <vector>

#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/live/stream_file.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {

using base::Expected;

struct StreamFile::Impl {
  std::unique_ptr<RecordedFile> file;
  StreamCheck check;
  std::vector<std::uint8_t> data;
};

Expected<std::unique_ptr<StreamFile>> StreamFile::open(const std::string& path,
                                                       const base::RingOptions& ring,
                                                       const std::string& name,
                                                       std::int64_t wall_now) {
  auto file = RecordedFile::open(path, ring, name, wall_now);
  if (!file) return tl::unexpected(file.error());
  auto impl = std::make_unique<Impl>();
  impl->file = std::move(*file);
  return std::unique_ptr<StreamFile>(new StreamFile(std::move(impl)));
}

StreamFile::StreamFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StreamFile::~StreamFile() = default;

Expected<void> StreamFile::write(const base::Frame& frame) {
  if (frame.time_ns < 0) return base::fail("the data is not an endpoint's event");
  if (const auto event = impl_->check.take(frame.data); !event) return base::fail(event.error());
  const auto event = *event_in_pdu(frame.data);
  // Other tags that may be there are dropped.
  impl_->data.assign(kUpperPduTags.begin(), kUpperPduTags.end());
  impl_->data.insert(impl_->data.end(), event.begin(), event.end());
  return impl_->file->write_event(frame.time_ns, impl_->data);
}

Expected<void> StreamFile::flush() {
  return impl_->file->flush();
}

Expected<void> StreamFile::finish(std::int64_t wall_now) {
  return impl_->file->finish(wall_now);
}

const std::string& StreamFile::file() const {
  return impl_->file->file();
}
std::uint64_t StreamFile::events() const {
  return impl_->file->events();
}
std::uint64_t StreamFile::lost() const {
  return impl_->file->lost();
}

}  // namespace rpcrdma::trace
