// Tests that events are written as a tree of the same fields would be.
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/session/context.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::report {
namespace {

std::string by_tree(const trace_reader::Event& event) {
  decode::JsonSink sink;
  trace_reader::decode_event(event, sink);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["kind"] = "event";
  json["frame"] = event.meta.frame;
  json["time"] = static_cast<double>(event.meta.time_ns) / 1e9;
  json["time_ns"] = event.meta.time_ns;
  json["connection"] = nullptr;
  json["event"] = trace::event_type_name(event.type());
  json["fields"] = sink.take();
  return json.dump() + '\n';
}

TEST(EventJson, IsThatOfATree) {
  std::mt19937_64 random(1);
  const auto fill = [&](std::vector<std::uint8_t>& bytes, bool plain) {
    for (std::uint8_t& b : bytes) {
      b = static_cast<std::uint8_t>(plain ? 0x20 + random() % 0x5f : random());
    }
  };
  for (int round = 0; round < 100; ++round) {
    for (std::uint16_t type = 1; type <= trace::kEventTypes; ++type) {
      trace_reader::Event event;
      std::vector<std::uint8_t> fixed(1 + random() % 160), payload(1 + random() % 80);
      fill(fixed, false);
      fill(payload, round % 2 == 0);
      if (round % 3 == 0) std::ranges::fill(fixed, std::uint8_t{0});
      event.view.header.type = type;
      event.view.header.connection = static_cast<std::uint32_t>(random() % 3);
      event.view.header.ring = static_cast<std::uint8_t>(random() % 3);
      event.view.fixed = fixed;
      event.view.payload = payload;
      event.meta.frame = random();
      event.meta.time_ns = static_cast<std::int64_t>(random() >> (round % 60));
      EXPECT_EQ(event_json(event, {}), by_tree(event));
    }
  }
}

}  // namespace
}  // namespace rpcrdma::report
