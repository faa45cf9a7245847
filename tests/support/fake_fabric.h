// A connection that follows a script and records all requests.
#pragma once

#include "null_provider.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rpcrdma::protocol::testing {

class FakeFabric : public fabric::testing::NullProvider {
 public:
  struct Posted {
    std::uint64_t id = 0;
    fabric::Operation operation = fabric::Operation::kSend;
    std::vector<std::uint8_t> bytes;  // of a Send or Write, as they were when it was posted
    std::vector<fabric::Slice> local;
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;
    std::uint32_t invalidate = 0;
    bool signaled = false;
  };
  struct Receive {
    std::uint64_t id = 0;
    fabric::Slice local;
  };
  struct Advertised {
    std::uint8_t* data = nullptr;
    std::uint32_t length = 0;
    std::uint64_t offset = 0;
    fabric::Access access{};
  };
  struct Invalidated {
    std::uint64_t id = 0;
    std::uint32_t handle = 0;
  };

  // Everything that was posted, in order; the script removes what completes.
  std::vector<Posted> posted;
  std::deque<Receive> receives;
  std::map<std::uint32_t, Advertised> advertised;
  std::vector<Invalidated> invalidated;
  std::vector<std::size_t> send_posts;  // requests in each call of post_send()
  std::size_t receive_posts = 0;        // calls of post_receive()
  std::uint32_t copied_send = 0;        // as in fabric::Connection
  // Requests that it refuses.
  std::size_t send_room = SIZE_MAX;
  std::optional<fabric::Errc> refuse_send, refuse_receive, refuse_advertise, refuse_invalidate;
  std::size_t advertise_room = SIZE_MAX;  // memory regions advertised before refuse_expose applies
  std::uint64_t registrations = 0;
  std::optional<std::uint64_t> accepted;  // with this cookie

  [[nodiscard]] std::unique_ptr<fabric::Connection> connection() {
    posted.clear();
    receives.clear();
    advertised.clear();
    invalidated.clear();
    return std::make_unique<Connection>(*this);
  }

  fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    ++registrations;
    return fabric::Memory{memory.data(), memory.size(), 1};
  }
  void deregister_memory(const fabric::Memory&) override { --registrations; }

 private:
  class Connection : public fabric::Connection {
   public:
    explicit Connection(FakeFabric& fabric) : f_(fabric) {}

    fabric::Expected<std::size_t> post_send(
        std::span<const fabric::SendRequest> requests) override {
      if (f_.refuse_send) return fabric::fail(*f_.refuse_send, "refused");
      std::size_t n = 0;
      for (; n < requests.size() && f_.send_room != 0; ++n, --f_.send_room) {
        const fabric::SendRequest& r = requests[n];
        Posted& p = f_.posted.emplace_back();
        p.id = r.id;
        p.operation = r.operation;
        p.handle = r.remote_handle;
        p.offset = r.remote_offset;
        p.invalidate = r.invalidate;
        p.signaled = r.signaled;
        p.local.assign(r.local.begin(), r.local.end());
        for (const fabric::Slice& s : r.local) {
          if (r.operation != fabric::Operation::kRead) {
            p.bytes.insert(p.bytes.end(), s.data, s.data + s.length);
          }
        }
      }
      if (n == 0) return fabric::fail(fabric::Errc::kNoRoom);
      f_.send_posts.push_back(n);
      return n;
    }
    std::uint32_t copied_send() const override { return f_.copied_send; }
    fabric::Expected<std::size_t> post_receive(
        std::span<const fabric::ReceiveRequest> requests) override {
      if (f_.refuse_receive) return fabric::fail(*f_.refuse_receive, "refused");
      ++f_.receive_posts;
      for (const fabric::ReceiveRequest& r : requests) f_.receives.push_back({r.id, r.local[0]});
      return requests.size();
    }
    fabric::Expected<fabric::MemoryRegion> advertise(std::uint64_t, const fabric::Memory& memory,
                                                     std::uint8_t* data, std::uint32_t length,
                                                     fabric::Access access) override {
      if (f_.refuse_advertise && f_.advertise_room == 0)
        return fabric::fail(*f_.refuse_advertise, "refused");
      if (f_.advertise_room != SIZE_MAX) --f_.advertise_room;
      if (data < memory.data ||
          length > memory.length - static_cast<std::size_t>(data - memory.data)) {
        return fabric::fail(fabric::Errc::kBadArgument, "outside of its memory");
      }
      const std::uint32_t handle = ++f_.last_handle_;
      const std::uint64_t offset = std::uint64_t{handle} << 32U;
      f_.advertised[handle] = {data, length, offset, access};
      return fabric::MemoryRegion{handle, offset};
    }
    fabric::Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) override {
      if (f_.refuse_invalidate) return fabric::fail(*f_.refuse_invalidate, "refused");
      if (f_.advertised.erase(handle) == 0) {
        return fabric::fail(fabric::Errc::kBadArgument, "no such handle");
      }
      f_.invalidated.push_back({id, handle});
      return {};
    }
    fabric::Expected<void> accept(const fabric::ConnectionOptions& options) override {
      f_.accepted = options.cookie;
      return {};
    }
    fabric::Expected<void> reject(std::span<const std::uint8_t>) override { return {}; }
    void disconnect() override {}

   private:
    FakeFabric& f_;
  };

  std::uint32_t last_handle_ = 0;
};

}  // namespace rpcrdma::protocol::testing
