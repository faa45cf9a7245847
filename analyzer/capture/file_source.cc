#include "file_source.h"

namespace rpcrdma::capture {

void Damage::skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes) {
  if (places_++ == 0) first_ = reason + " at offset " + std::to_string(offset);
  bytes_ += bytes;
}

void Damage::stopped(const std::string& reason) {
  last_ = reason;
}

std::string Damage::text() const {
  std::string text;
  if (places_ != 0) {
    text = first_ + "; " + std::to_string(bytes_) + " bytes skipped";
    if (places_ > 1) text += " there and in " + std::to_string(places_ - 1) + " more places";
  }
  if (!text.empty() && !last_.empty()) text += "; ";
  return text + last_;
}

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
