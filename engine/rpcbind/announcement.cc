#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/rpcbind/announcement.h>
#include <rpcrdma/rpcbind/universal_address.h>

namespace rpcrdma::rpcbind {

namespace {

bool same_service(const Registration& a, const Registration& b) {
  return a.program == b.program && a.version == b.version && a.netid == b.netid;
}

}  // namespace

fabric::Expected<Announcement> Announcement::make(const Server& rpcbind,
                                                  const fabric::Endpoint& address,
                                                  std::span<const Program> programs) {
  Announcement made(rpcbind);
  for (const Program& p : programs) {
    const auto added =
        made.add({p.number, p.version, rdma_netid(address.address), to_universal(address), ""});
    if (!added) return tl::unexpected(added.error());
  }
  return made;
}

Announcement::Announcement(Announcement&& other) noexcept
    : rpcbind_(std::move(other.rpcbind_)),
      registered_(std::exchange(other.registered_, {})),
      replaced_(std::move(other.replaced_)) {}

Announcement::~Announcement() {
  (void)unregister();
}

fabric::Expected<void> Announcement::add(const Registration& what) {
  const auto done = set(rpcbind_, what);
  if (!done) return tl::unexpected(done.error());
  if (!*done) {
    const auto all = dump(rpcbind_);
    if (!all) return tl::unexpected(all.error());
    const auto other = std::find_if(all->begin(), all->end(),
                                    [&](const Registration& r) { return same_service(r, what); });
    const auto refused = [&] {
      return fabric::fail(
          fabric::Errc::kNotConnected,
          fmt::format("rpcbind does not register program {} version {} for netid {}{}",
                      what.program, what.version, what.netid,
                      other == all->end()
                          ? std::string()
                          : fmt::format(": it has {}, registered by {}", quoted(other->address),
                                        quoted(other->owner))));
    };
    if (other == all->end()) return refused();
    const auto removed = unset(rpcbind_, what);
    if (!removed) return tl::unexpected(removed.error());
    const auto again = set(rpcbind_, what);
    if (!again) return tl::unexpected(again.error());
    if (!*again) return refused();
    replaced_.push_back(*other);
  }
  registered_.push_back(what);
  return {};
}

fabric::Expected<void> Announcement::unregister() {
  const std::vector<Registration> ours = std::exchange(registered_, {});
  if (ours.empty()) return {};
  const auto all = dump(rpcbind_);
  if (!all) return tl::unexpected(all.error());
  for (const Registration& r : ours) {
    const bool still = std::any_of(all->begin(), all->end(), [&](const Registration& other) {
      return same_service(r, other) && r.address == other.address;
    });
    if (!still) continue;
    const auto removed = unset(rpcbind_, r);
    if (!removed) return tl::unexpected(removed.error());
    if (!*removed) {
      return fabric::fail(
          fabric::Errc::kNotConnected,
          fmt::format("rpcbind does not unregister program {} version {}", r.program, r.version));
    }
  }
  return {};
}

}  // namespace rpcrdma::rpcbind
