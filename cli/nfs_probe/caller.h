// One Call of NFS version 3 after the other.
#pragma once

#include <array>
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
  // The loop outlives it. `timeout`: of each Call, and until there is a connection.
  Caller(service::Loop& loop, fabric::Time timeout);
  ~Caller() override;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Until there is a connection, or why not. `interrupted`: ends it.
  [[nodiscard]] fabric::Expected<void> connect(const service::ClientOptions& options,
                                               const std::function<bool()>& interrupted);
  void disconnect();

  struct Call {
    Proc proc = Proc::kNull;
    std::function<void(wire::XdrWriter&)> arguments = {};
    wire::Bytes data = {};             // a DDP-eligible argument behind them
    protocol::ResultSpace space = {};  // of a DDP-eligible result
    std::uint32_t most_results = 0;    // bytes, without that one
    // Is given the results of a Call that the server has accepted; false: they do not decode.
    std::function<bool(protocol::StreamReader&)> results = {};
  };
  // Waits for its end. Nothing: the results were read; else what is wrong, a clause.
  [[nodiscard]] std::optional<std::string> make(const Call& call);

  [[nodiscard]] const service::Client& client() const { return *client_; }
  [[nodiscard]] fabric::Time took() const { return took_; }  // the last Call
  // Of a Call with these arguments, header of RPC-over-RDMA without chunks included, data not.
  [[nodiscard]] std::uint32_t call_bytes(const std::function<void(wire::XdrWriter&)>& arguments);

 private:
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override;
  void on_connected(const service::ConnectionInfo& connection) override;
  void on_lost(std::uint32_t connection, std::string_view what, fabric::Time retry) override;
  [[nodiscard]] const service::CallHeader& header(Proc proc);

  service::Loop& loop_;
  const fabric::Time timeout_;
  const std::vector<std::uint8_t> credential_;
  std::vector<std::pair<Proc, service::CallHeader>> headers_;
  std::unique_ptr<service::Client> client_;
  std::array<std::uint8_t, 1024> arguments_{};
  const Call* call_ = nullptr;  // that is under way
  bool connected_ = false;
  bool ended_ = false;
  std::string lost_;  // why there is no connection
  std::optional<std::string> problem_;
  fabric::Time took_ = 0;
};

}  // namespace rpcrdma::nfs_probe
