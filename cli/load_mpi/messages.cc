#include "messages.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace rpcrdma::load_mpi {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Calls `fill` with the object; nothing if a key is missing or has another type.
template <typename T, typename Fill>
std::optional<T> read(const std::string& bytes, const Fill& fill) {
  try {
    const Json json = Json::parse(bytes);
    // The library would convert it, however large it is.
    for (const Json& value : json) {
      if (value.is_number_float()) return std::nullopt;
    }
    T m;
    fill(json, m);
    return m;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string encode(const Hello& m) {
  return text_of(
      {{"version", m.version}, {"host", m.host}, {"address", m.address}, {"problem", m.problem}});
}
std::optional<Hello> decode_hello(const std::string& bytes) {
  return read<Hello>(bytes, [](const Json& j, Hello& m) {
    j.at("version").get_to(m.version);
    j.at("host").get_to(m.host);
    j.at("address").get_to(m.address);
    j.at("problem").get_to(m.problem);
  });
}

std::string encode(const Work& m) {
  return text_of({{"round", m.round}, {"servers", m.servers}});
}
std::optional<Work> decode_work(const std::string& bytes) {
  return read<Work>(bytes, [](const Json& j, Work& m) {
    j.at("round").get_to(m.round);
    j.at("servers").get_to(m.servers);
  });
}

std::string encode(const Ready& m) {
  return text_of({{"problem", m.problem}});
}
std::optional<Ready> decode_ready(const std::string& bytes) {
  return read<Ready>(bytes, [](const Json& j, Ready& m) { j.at("problem").get_to(m.problem); });
}

std::string encode(const Ping& m) {
  return text_of({{"sent", m.sent}, {"remote", m.remote}});
}
std::optional<Ping> decode_ping(const std::string& bytes) {
  return read<Ping>(bytes, [](const Json& j, Ping& m) {
    j.at("sent").get_to(m.sent);
    j.at("remote").get_to(m.remote);
  });
}

std::string encode(const Start& m) {
  return text_of(
      {{"at", m.at}, {"offset", m.offset}, {"error", m.error}, {"since_first", m.since_first}});
}
std::optional<Start> decode_start(const std::string& bytes) {
  return read<Start>(bytes, [](const Json& j, Start& m) {
    j.at("at").get_to(m.at);
    j.at("offset").get_to(m.offset);
    j.at("error").get_to(m.error);
    j.at("since_first").get_to(m.since_first);
  });
}

std::string encode(const Done& m) {
  return text_of({{"round", m.round}, {"bytes", m.bytes}});
}
std::optional<Done> decode_done(const std::string& bytes) {
  return read<Done>(bytes, [](const Json& j, Done& m) {
    j.at("round").get_to(m.round);
    j.at("bytes").get_to(m.bytes);
  });
}

std::string encode(const Reduce& m) {
  return text_of({{"capacity", m.capacity}});
}
std::optional<Reduce> decode_reduce(const std::string& bytes) {
  return read<Reduce>(bytes, [](const Json& j, Reduce& m) { j.at("capacity").get_to(m.capacity); });
}

}  // namespace rpcrdma::load_mpi
