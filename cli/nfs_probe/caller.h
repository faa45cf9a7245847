// Sends Calls of NFS version 3, one at a time.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/nfs3.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::nfs_probe {

using service::nfs3::Proc;

class Caller : service::ClientObserver {
 public:
  // The loop must outlive it. `timeout`: of each Call, and of connecting.
  Caller(service::Loop& loop, fabric::Time timeout);
  ~Caller() override;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Returns when connected, or why that failed. `interrupted`: stops it.
  [[nodiscard]] fabric::Expected<void> connect(const service::ClientOptions& options,
                                               const std::function<bool()>& interrupted);
  void disconnect();

  struct Call {
    Proc proc = Proc::kNull;
    std::function<void(wire::XdrWriter&)> arguments = {};
    wire::Bytes data = {};             // a DDP-eligible argument after them
    protocol::ResultSpace space = {};  // for a DDP-eligible result
    std::uint32_t most_results = 0;    // bytes, without that result
    // Called with the results of a Call that the server has accepted; returns false if they cannot
    // be decoded.
    std::function<bool(protocol::StreamReader&)> results = {};
  };
  // Waits until the Call ends, at the latest at `until`. Returns nothing if the results were read;
  // else a clause that says what is wrong. Until then the Call uses the memory of `data` and
  // `space`; after an error of the loop, until this is destroyed.
  [[nodiscard]] std::optional<std::string> make(const Call& call, fabric::Time until);

  [[nodiscard]] const service::Client& client() const { return *client_; }
  [[nodiscard]] fabric::Time took() const { return took_; }  // duration of the last Call
  // Returns the length of a Call with these arguments, including an RPC-over-RDMA header without
  // chunks, without data.
  [[nodiscard]] std::uint32_t call_bytes(const std::function<void(wire::XdrWriter&)>& arguments);

 private:
  // Forgets the Call at the end of its scope, also by an exception.
  class CallInFlight {
   public:
    CallInFlight(Caller& caller, const Call& call) : caller_(caller) { caller.call_ = &call; }
    ~CallInFlight() { caller_.call_ = nullptr; }
    CallInFlight(const CallInFlight&) = delete;
    CallInFlight& operator=(const CallInFlight&) = delete;
    [[nodiscard]] bool ended() const { return caller_.call_ == nullptr; }

   private:
    Caller& caller_;
  };

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override;
  void on_connected(const service::ConnectionInfo& connection) override;
  void on_lost(std::uint32_t connection, std::string_view what, fabric::Time retry) override;
  [[nodiscard]] const service::CallHeader& header(Proc proc);

  service::Loop& loop_;
  const fabric::Time timeout_;
  const std::vector<std::uint8_t> credential_;
  std::deque<std::pair<Proc, service::CallHeader>> headers_;  // Calls in flight refer to them
  std::unique_ptr<service::Client> client_;
  std::array<std::uint8_t, 1024> arguments_{};
  const Call* call_ = nullptr;  // the Call in flight
  std::uint64_t number_ = 0;    // its cookie
  bool connected_ = false;
  std::string lost_;  // why the connection failed
  std::optional<std::string> problem_;
  fabric::Time took_ = 0;
};

}  // namespace rpcrdma::nfs_probe
