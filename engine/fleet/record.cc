#include "bounded_text.h"
#include "json_fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/core.h>
#include <isa-l/crc.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/fleet/record.h>
#include <rpcrdma/fleet/summary.h>
#include <rpcrdma/wire/end_isal.h>

namespace rpcrdma::fleet {

namespace {

using nlohmann::json;

constexpr std::size_t kIdChars = 32;
constexpr char kChunkTag = 'C';  // JSON begins with '{'
constexpr std::size_t kChunkHead = 1 + sizeof(std::uint64_t);

std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

json hello_json(const Hello& h) {
  return {{"instance", bounded_text(h.instance, kIdChars * 2)},
          {"process", h.process},
          {"boot", bounded_text(h.boot, kIdChars * 2)}};
}

Hello hello_from(Fields& f) {
  Hello h;
  h.instance = f.text("instance", kIdChars * 2);
  h.process = f.small("process");
  h.boot = f.text("boot", kIdChars * 2);
  return h;
}

// It becomes part of a subject and of file names.
std::string id_from(Fields& f) {
  std::string id = f.text("id", kIdChars);
  const bool plain = std::ranges::all_of(
      id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (id.empty() || !plain) f.fail("id", "not hexadecimal");
  return id;
}

// Returns an object of this schema version.
base::Expected<json> object_of(std::string_view text) {
  if (text.size() > kMostControlBytes) return base::fail("a message longer than its limit");
  json object = json::parse(text, nullptr, false);
  if (object.is_discarded() || !object.is_object()) return base::fail("not a JSON object");
  const auto schema = object.find("schema");
  if (schema == object.end() || !schema->is_number_unsigned()) {
    return base::fail("schema: missing, or not a number");
  }
  if (*schema != kSchema) {
    return base::fail(fmt::format("schema version {}; this program reads {}",
                                  schema->get<std::uint64_t>(), kSchema));
  }
  return object;
}

struct RequestWriter {
  json operator()(const Hello& h) const {
    json object = hello_json(h);
    object["op"] = "hello";
    return object;
  }
  json operator()(const RecordRequest& r) const {
    return {{"op", "record"},
            {"id", r.id},
            {"endpoint", bounded_text(r.endpoint, kMostName)},
            {"duration_ns", r.duration_ns},
            {"most_bytes", r.most_bytes}};
  }
  json operator()(const RecordAck& a) const {
    return {{"op", "ack"}, {"id", a.id}, {"bytes", a.bytes}};
  }
  json operator()(const RecordStop& s) const { return {{"op", "stop"}, {"id", s.id}}; }
};

Request request_from(Fields& f) {
  const std::string op = f.text("op", kIdChars);
  if (op == "hello") return hello_from(f);
  if (op == "record") {
    RecordRequest r;
    r.id = id_from(f);
    r.endpoint = f.text("endpoint", kMostName);
    r.duration_ns = f.time("duration_ns");
    r.most_bytes = f.number("most_bytes");
    return r;
  }
  if (op == "ack") return RecordAck{id_from(f), f.number("bytes")};
  if (op == "stop") return RecordStop{id_from(f)};
  f.fail("op", "not a known word");
  return Hello{};
}

struct MessageWriter {
  std::string operator()(const RecordProgress& p) const {
    return written({{"type", "progress"}, {"events", p.events}, {"bytes", p.bytes}});
  }
  std::string operator()(const RecordChunk& c) const {
    std::string bytes(kChunkHead, kChunkTag);
    for (std::size_t i = 0; i < sizeof c.offset; ++i) {
      bytes[1 + i] = static_cast<char>(c.offset >> (8 * i));
    }
    bytes.append(c.data);
    return bytes;
  }
  std::string operator()(const RecordEnd& e) const {
    return written({{"type", "end"},
                    {"bytes", e.bytes},
                    {"crc32c", e.crc},
                    {"events", e.events},
                    {"lost", e.lost},
                    {"why", bounded_text(e.why, kMostText)}});
  }
  std::string operator()(const RecordFailed& f) const {
    return written({{"type", "failed"}, {"why", bounded_text(f.why, kMostText)}});
  }
  static std::string written(json object) {
    object["schema"] = kSchema;
    return text_of(object);
  }
};

}  // namespace

std::string to_json(const Request& request) {
  json object = std::visit(RequestWriter{}, request);
  object["schema"] = kSchema;
  return text_of(object);
}

base::Expected<Request> request_from_json(std::string_view text) {
  const auto object = object_of(text);
  if (!object) return tl::unexpected(object.error());
  std::string error;
  Fields f(*object, {}, error);
  Request request = request_from(f);
  if (!error.empty()) return base::fail(std::move(error));
  return request;
}

std::string to_json(const Answer& answer) {
  json object = hello_json(answer.agent);
  object["schema"] = kSchema;
  object["refused"] = bounded_text(answer.refused, kMostText);
  object["endpoint"] = bounded_text(answer.endpoint, kMostName);
  return text_of(object);
}

base::Expected<Answer> answer_from_json(std::string_view text) {
  const auto object = object_of(text);
  if (!object) return tl::unexpected(object.error());
  std::string error;
  Fields f(*object, {}, error);
  Answer answer;
  answer.refused = f.text("refused", kMostText);
  answer.endpoint = f.text("endpoint", kMostName);
  answer.agent = hello_from(f);
  if (!error.empty()) return base::fail(std::move(error));
  return answer;
}

std::string to_bytes(const RecordMessage& message) {
  return std::visit(MessageWriter{}, message);
}

base::Expected<RecordMessage> record_message(std::string_view bytes) {
  if (!bytes.empty() && bytes.front() == kChunkTag) {
    if (bytes.size() <= kChunkHead || bytes.size() > kChunkHead + kRecordChunk) {
      return base::fail("a chunk of a length that no agent sends");
    }
    RecordChunk chunk;
    for (std::size_t i = 0; i < sizeof chunk.offset; ++i) {
      chunk.offset |= std::uint64_t{static_cast<unsigned char>(bytes[1 + i])} << (8 * i);
    }
    chunk.data = bytes.substr(kChunkHead);
    return chunk;
  }
  const auto object = object_of(bytes);
  if (!object) return tl::unexpected(object.error());
  std::string error;
  Fields f(*object, {}, error);
  const std::string type = f.text("type", kIdChars);
  RecordMessage message;
  if (type == "progress") {
    const std::uint64_t events = f.number("events");
    message = RecordProgress{events, f.number("bytes")};
  } else if (type == "end") {
    RecordEnd end;
    end.bytes = f.number("bytes");
    end.crc = f.small("crc32c");
    end.events = f.number("events");
    end.lost = f.number("lost");
    end.why = f.text("why", kMostText);
    message = end;
  } else if (type == "failed") {
    message = RecordFailed{f.text("why", kMostText)};
  } else {
    f.fail("type", "not a known word");
  }
  if (!error.empty()) return base::fail(std::move(error));
  return message;
}

void RecordChecksum::add(std::string_view bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // the function takes an int
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), kStep);
    // It only reads; its parameter is not const.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc_ = crc32_iscsi(data, static_cast<int>(step), crc_);
    bytes.remove_prefix(step);
  }
  wire::end_isal();
}

}  // namespace rpcrdma::fleet
