#include "sessions_join.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace rpcrdma::report {

namespace {

using mounts::Mount;

void number(Mount& m, const ConnectionJoin& join, std::uint64_t frames) {
  const auto move = [frames](std::uint64_t& frame) {
    if (frame != 0) frame += frames;
  };
  for (std::uint64_t* const frame :
       {&m.created_frame, &m.destroyed_frame, &m.first_frame, &m.last_frame,
        &m.backchannel.down_first_frame, &m.backchannel.down_last_frame}) {
    move(*frame);
  }
  if (m.backchannel.last) move(m.backchannel.last->frame);
  for (mounts::MountConnection& c : m.connections) c.id = join.id(c.id);
  std::sort(m.connections.begin(), m.connections.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

auto key(const Mount& m) {
  const bool session = !m.session.empty();
  return std::tuple(m.session, session ? 4 : m.version,
                    session ? UINT32_MAX : m.minor.value_or(UINT32_MAX),
                    session ? std::string() : m.client, session ? std::string() : m.server);
}

}  // namespace

void join_sessions(Report& earlier, Report& later, const ConnectionJoin& join,
                   std::uint64_t frames) {
  mounts::Mounts& to = earlier.mounts;
  std::map<decltype(key(Mount{})), std::size_t> known;
  for (std::size_t i = 0; i < to.list.size(); ++i) known.emplace(key(to.list[i]), i);
  for (Mount& m : later.mounts.list) {
    number(m, join, frames);
    const auto at = known.find(key(m));
    if (at != known.end()) {
      mounts::add(to.list[at->second], std::move(m));
    } else if (to.list.size() < mounts::kMaxMounts) {
      known.emplace(key(m), to.list.size());
      to.list.push_back(std::move(m));
    } else {
      to.omitted_calls += m.calls;
    }
  }
  to.omitted_calls += later.mounts.omitted_calls;
  to.not_followed += later.mounts.not_followed;
  mounts::find_data_servers(to);
}

}  // namespace rpcrdma::report
