#include "trace_scope.h"

#include <chrono>
#include <filesystem>
#include <span>

#include <unistd.h>

#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::bench {
namespace {

const std::vector<std::uint8_t> kMessage(68);

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void trace_call(trace::Tracer* tracer, std::int64_t now, std::uint32_t xid) {
  constexpr std::uint32_t kConnection = 0x01000001;
  if (trace::on(tracer)) {
    trace::Message message;
    message.side = 1;
    message.length = static_cast<std::uint32_t>(kMessage.size());
    tracer->emit(kConnection, now, message, kMessage);
  }
  if (trace::on(tracer)) tracer->emit(kConnection, now, trace::Receives{1, 64});
  if (trace::on(tracer)) {
    trace::Call call;
    call.xid = xid;
    tracer->emit(kConnection, now, call);
  }
  if (trace::on(tracer)) {
    trace::Credits credits;
    credits.in_use = xid;
    tracer->emit(kConnection, now, credits);
  }
  if (trace::on(tracer)) {
    trace::Message message;
    message.length = static_cast<std::uint32_t>(kMessage.size());
    tracer->emit(kConnection, now, message, kMessage);
  }
  if (trace::on(tracer)) {
    trace::CallEnd end;
    end.xid = xid;
    end.ended = now;
    tracer->emit(kConnection, now, end);
  }
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "bench_trace_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) die("cannot make a folder");
  path = pattern;
  ::setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
}

Folder::~Folder() {
  std::filesystem::remove_all(path);
}

Reader::Reader(const std::string& socket)
    : source_(must(capture::open_descriptor(must(trace::connect_endpoint(socket)), "stream"))) {
  thread_ = std::thread([this] { run(); });
  while (!begun_) std::this_thread::yield();
}

void Reader::finish() {
  thread_.join();
  for (const auto& [ring, sums] : sums_) {
    emitted += sums.emitted;
    lost += sums.lost;
  }
}

void Reader::run() {
  capture::Frame frame;
  while (source_->next(frame).value_or(false)) {
    const auto event = trace::event_in_pdu(frame.data);
    const auto view = event ? trace::view_event(*event) : std::nullopt;
    if (!view) die("the stream is broken");
    if (const auto loss = trace::read_event<trace::Loss>(*view)) {
      sums_[view->header.ring] = *loss;
    } else if (view->header.type == static_cast<std::uint16_t>(trace::EventType::kEndpoint)) {
      begun_ = true;
    } else if (++n_ % 64 == 0) {
      late_us.push_back(static_cast<double>(now_ns() - view->header.time) / 1e3);
    }
  }
}

Scope::Scope(const std::string& folder, std::uint32_t one_in)
    : hub(must(trace::Hub::start({.name = "bench", .one_in = one_in}))) {
  tracer = hub->add();
  must(hub->open_socket());
  reader = std::make_unique<Reader>(hub->socket_path());
  must(hub->record(folder + "/bench.pcapng"));
}

void Scope::finish() {
  hub->stop();
  reader->finish();
}

}  // namespace rpcrdma::bench
