// A store of named data as an RPC program, its server and a client, in one process: docs/service.md
// explains it. Usage: service_example [ADDRESS]
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>
#include <rpcrdma/wire/xdr.h>

namespace {

using namespace rpcrdma;

// const MAX_NAME = 64; const MAX_DATA = 1048576;
// program STORE {
//   version STORE_1 {
//     void  PUT(string name<MAX_NAME>, opaque data<MAX_DATA>) = 1;  /* data is DDP-eligible */
//     opaque GET(string name<MAX_NAME>) = 2;                        /* so is the result */
//   } = 1;
// } = 0x20000101;
constexpr std::uint32_t kStore = 0x20000101;
constexpr std::uint32_t kPut = 1, kGet = 2;
constexpr std::uint32_t kMaxName = 64;
constexpr std::uint32_t kMaxData = 1U << 20;

// ----- the server's side

class Store : public service::Program {
 public:
  Store()
      : Program(kStore, 1, "store",
                {{kPut, "PUT", [this](service::Call& c) { put(c); }, {1, 0, 0}},
                 {kGet, "GET", [this](service::Call& c) { get(c); }, {0, 1, 4}}}) {}

 private:
  void put(service::Call& call) {
    const auto name = call.arguments().opaque(kMaxName);
    // Inline or from a Read chunk: the handler need not know which.
    const auto data = call.arguments().opaque(kMaxData);
    if (!call.arguments().at_end()) {
      call.fail(service::CallError::kGarbageArgs);
      return;
    }
    data_[{name.begin(), name.end()}].assign(data.begin(), data.end());
    call.reply({});
  }

  void get(service::Call& call) {
    const auto name = call.arguments().opaque(kMaxName);
    if (!call.arguments().at_end()) {
      call.fail(service::CallError::kGarbageArgs);
      return;
    }
    const std::vector<std::uint8_t>& data = data_[{name.begin(), name.end()}];
    const auto length = static_cast<std::uint32_t>(data.size());
    // Registered memory: the data is sent from there, and the block returns to the pool by itself
    // when the Reply has been sent.
    const auto block = call.acquire(length);
    if (!block) {
      call.fail(service::CallError::kSystemError);
      return;
    }
    if (length != 0) std::memcpy(block->data, data.data(), length);
    std::array<std::uint8_t, 4> count;
    wire::store_be32(count.data(), length);
    const protocol::Piece results[] = {{count, nullptr, false},
                                       {{block->data, length}, block->memory, true}};
    call.reply(results);
  }

  std::map<std::string, std::vector<std::uint8_t>> data_;
};

// ----- the client's side

// One Call at a time: its result is kept until it is read.
class StoreClient : public service::ClientObserver {
 public:
  StoreClient(service::Loop& loop, const service::ClientOptions& options)
      : loop_(loop), client_(service::Client::create(loop, options, *this).value()) {}

  bool put(const std::string& name, wire::Bytes data) {
    wire::XdrWriter arguments(arguments_);
    arguments.opaque({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
    arguments.u32(static_cast<std::uint32_t>(data.size()));
    // The data has no `memory`, so it is copied once. In a block of loop.memory() it would not be.
    const protocol::Piece message[] = {put_.piece(),
                                       {{arguments_.data(), arguments.size()}, nullptr, false},
                                       {data, nullptr, true}};
    protocol::CallSpec spec;
    spec.message = message;
    spec.max_reply = service::kReplyHeaderBytes;
    return wait(spec).has_value();
  }

  std::optional<std::string> get(const std::string& name) {
    wire::XdrWriter arguments(arguments_);
    arguments.opaque({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
    const protocol::Piece message[] = {get_.piece(),
                                       {{arguments_.data(), arguments.size()}, nullptr, false}};
    // Memory for a result that does not fit inline: the server writes it through a Write chunk.
    const auto block = loop_.memory().acquire(kMaxData);
    if (!block) return std::nullopt;
    const protocol::ResultSpace space[] = {{block->data, kMaxData, block->memory}};
    protocol::CallSpec spec;
    spec.message = message;
    spec.results = space;
    spec.max_reply = service::kReplyHeaderBytes + 4;
    auto result = wait(spec);
    loop_.memory().release(*block);
    return result;
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    service::ReplyReader reply(outcome, results_);
    ended_ = true;
    if (reply.status() != service::RpcStatus::kSuccess) {
      std::fprintf(stderr, "%s\n", describe(outcome, reply).c_str());
      return;
    }
    result_.emplace();
    if (results_.empty()) return;
    const auto data = reply.results().opaque_result(kMaxData);
    result_->assign(data.begin(), data.end());
  }

 private:
  std::optional<std::string> wait(protocol::CallSpec& spec) {
    spec.timeout = 5 * fabric::kSecond;
    results_ = spec.results;
    ended_ = false;
    result_.reset();
    if (!client_->call(spec)) return std::nullopt;
    // Everything that the Call points to must live until it has ended.
    while (!ended_) {
      if (!loop_.run_once()) return std::nullopt;
    }
    return result_;
  }

  service::Loop& loop_;
  std::unique_ptr<service::Client> client_;
  service::CallHeader put_{kStore, 1, kPut}, get_{kStore, 1, kGet};
  std::array<std::uint8_t, 4 + kMaxName + 4> arguments_;
  std::span<const protocol::ResultSpace> results_;
  std::optional<std::string> result_;
  bool ended_ = false;
};

int run(const char* address) {
  soft::ProviderOptions own;
  const auto parsed = fabric::parse_address(address);
  if (!parsed) {
    std::fprintf(stderr, "%s\n", parsed.error().message.c_str());
    return 2;
  }
  own.adapter.address = *parsed;
  auto provider = soft::SoftProvider::open(own);
  if (!provider) {
    std::fprintf(stderr, "%s\n", provider.error().message.c_str());
    return 2;
  }
  // One loop serves both, since they are in one process.
  auto loop = service::Loop::create(**provider).value();

  Store store;
  service::Program* const programs[] = {&store};
  auto server = service::Server::create(*loop, programs).value();

  service::ClientOptions options;
  options.server = *parsed;
  StoreClient client(*loop, options);
  const std::string small = "a few bytes";
  const std::string large(100'000, 'x');
  for (const std::string& data : {small, large}) {
    if (!client.put("name", {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()})) {
      return 1;
    }
    if (client.get("name") != data) return 1;
  }
  const service::ServerCounters counters = server->counters();
  std::printf("%llu Calls; %llu bytes by RDMA Read, %llu by RDMA Write\n",
              static_cast<unsigned long long>(counters.calls.calls),
              static_cast<unsigned long long>(counters.responder.bytes.read()),
              static_cast<unsigned long long>(counters.responder.bytes.written()));
  return counters.responder.bytes.read() == large.size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc > 1 ? argv[1] : "127.0.0.1");
}
