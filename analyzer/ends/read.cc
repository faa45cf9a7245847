#include "ring.h"
#include "watched_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/ends/collector.h>
#include <rpcrdma/ends/half.h>
#include <rpcrdma/ends/read.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::ends {

namespace {

// The name without its folder, as long as no other file has the same.
std::string short_name(const std::vector<std::string>& files, std::size_t at) {
  const auto name = [&](std::size_t i) {
    return std::filesystem::path(files[i]).filename().string();
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i != at && name(i) == name(at)) return files[at];
  }
  return name(at);
}

bool is_cancelled(const ReadWatch& watch) {
  return watch.cancelled != nullptr && watch.cancelled->load(std::memory_order_relaxed);
}

base::Expected<SourceHalves> read_one(const std::string& path, std::uint32_t file,
                                      std::size_t most_calls, const EndsOptions& options,
                                      Watcher* watcher, const ReadWatch& watch) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return base::fail(fmt::format("{}: is not a regular file, so it cannot be read again", path));
  }
  auto opened = capture::open_file(path);
  if (!opened) return tl::unexpected(opened.error());
  WatchedSource source(std::move(*opened), watch.cancelled, watch.bytes_read);
  Collector collector(most_calls);
  session::Observers observers{
      .before_rules = {}, .after_rules = {&collector}, .events = {&collector}};
  if (watcher != nullptr) {
    if (model::Observer* const also = watcher->observer(file); also != nullptr) {
      observers.after_rules.push_back(also);
    }
  }
  session::Session session({.model = {.dialect = options.dialect, .check_icrc = options.check_icrc},
                            .rules = std::nullopt,
                            .join_views = false},
                           std::move(observers));
  collector.attach(session.context());
  if (watcher != nullptr) watcher->session_begins(file, session.context());
  if (auto read = session.pipeline().run(source, nullptr, options.threads); !read) {
    return tl::unexpected(read.error());
  }
  if (is_cancelled(watch)) return base::fail("cancelled");
  session.pipeline().finish();
  SourceHalves halves = collector.take(true);
  halves.lost += session.pipeline().dropped(source.stats());
  halves.files = {file};
  for (HalfConnection& c : halves.connections) c.shown_as = {{file, c.id}};
  if (watcher != nullptr) watcher->file_ended(file);
  return halves;
}

}  // namespace

base::Expected<Ends> read_ends(const std::vector<std::string>& files, const EndsOptions& options,
                               Watcher* watcher, const ReadWatch& watch) {
  std::vector<SourceHalves> sources;
  std::size_t left = options.most_calls;
  for (std::size_t i = 0; i < files.size(); ++i) {
    // Each gets an equal share of what the files before it have left.
    const std::size_t share = left / (files.size() - i);
    auto halves = read_one(files[i], static_cast<std::uint32_t>(i), share, options, watcher, watch);
    if (!halves) return tl::unexpected(halves.error());
    left -= std::min(left, halves->calls.size());
    halves->file = short_name(files, i);
    sources.push_back(std::move(*halves));
  }
  unite_rings(sources);
  return join(std::move(sources), options);
}

}  // namespace rpcrdma::ends
