#include "file_source.h"

namespace rpcrdma::capture {

Expected<bool> FileSource::end_of_input(const char* record) {
  if (!feed_->failure().empty()) {
    feed_->stop();
    return fail(name_ + ": " + feed_->failure());
  }
  std::string why;
  if (feed_->available() != 0) {
    stats_.cut_short = true;
    why = std::string("the file ends within the ") + record + " at offset " +
          std::to_string(feed_->offset()) + ": only " + std::to_string(feed_->available()) +
          " bytes of it are present";
  }
  if (!feed_->damage().empty()) {
    stats_.cut_short |= feed_->cut_short();
    why += (why.empty() ? "" : ": ") + feed_->damage();
    if (feed_->available() == 0) why += ", after offset " + std::to_string(feed_->offset());
  }
  feed_->stop();
  if (!why.empty()) {
    damage_.stopped(why);
    stats_.damage = damage_.text();
  }
  return false;
}

bool FileSource::stop(const std::string& reason, std::uint64_t offset) {
  damage_.stopped(reason + " at offset " + std::to_string(offset) + "; the rest is not read");
  stats_.damage = damage_.text();
  feed_->stop();
  return false;
}

void FileSource::lacks_end(const std::string& reason) {
  damage_.stopped(reason);
  stats_.damage = damage_.text();
}

void FileSource::skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes) {
  damage_.skipped(offset, reason, bytes);
  stats_.damage = damage_.text();
}

}  // namespace rpcrdma::capture
