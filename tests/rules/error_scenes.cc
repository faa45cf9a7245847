// Scenes for the rules about RDMA_ERROR (ERR).
#include "registry.h"

namespace rpcrdma::scenes {

namespace {

// Changes one byte of a valid message.
Bytes with_byte(const Message& message, std::size_t at, std::uint8_t value) {
  Bytes content = encode(message);
  content[at] = value;
  return content;
}

// The client sends a Call, and the server this message.
auto answered(const Message& m, const std::vector<Bytes>& answers) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(m);
    for (const Bytes& a : answers) c.send(kServer, a);
  };
}
auto answered(const Bytes& content, const Bytes& answer) {
  return [=](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.send(kClient, content);
    c.send(kServer, answer);
  };
}

RuleScene scene(const char* rule, std::function<void(Scene&)> breaks,
                std::function<void(Scene&)> keeps) {
  return {.rule = rule,
          .guilty = Guilty::kServer,
          .breaks = std::move(breaks),
          .keeps = std::move(keeps)};
}

Bytes longer(Bytes content) {
  content.resize(content.size() + 4);
  return content;
}

// The malformed message counts as an answer; the connection continues and ends.
auto answered_and_closed(const Bytes& answer) {
  return [answer](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    c.call(call(2));
    c.send(kServer, answer);
    c.exchange(3);
    c.disconnect();
  };
}

void add_forms(Scenes& scenes) {
  const Message v2 = version2(call(2));
  const auto good_vers = answered(v2, {encode(err_vers(2))});
  const auto good_chunk = answered(call(2), {encode(err_chunk(2))});
  scenes.push_back(scene("ERR-02", answered(v2, {encode(err_vers(2, 3, 1))}), good_vers));
  scenes.push_back(scene("ERR-02", answered(v2, {longer(encode(err_vers(2)))}), good_vers));
  scenes.back().variant = "length";
  scenes.push_back(
      scene("ERR-03", answered(call(2), {with_byte(err_chunk(2), 19, 9)}), good_chunk));
  scenes.push_back(scene("ERR-03", answered(call(2), {longer(encode(err_chunk(2)))}), good_chunk));
  scenes.back().variant = "length";
  scenes.push_back(scene("ERR-03", answered_and_closed(with_byte(err_chunk(2), 19, 9)),
                         answered_and_closed(encode(err_chunk(2)))));
  scenes.back().variant = "answers";
  scenes.push_back(scene("ERR-04", answered(v2, {with_byte(err_vers(2), 7, 3)}),
                         answered(v2, {encode(version2(err_vers(2)))})));
  // A copied version is reported as well, since RFC 5666 may be read otherwise.
  scenes.back().both = {"ERR-04"};
  scenes.push_back(scene("ERR-04", answered(v2, {with_byte(err_vers(2), 7, 3)}), good_vers));
  scenes.back().variant = "own";  // by RFC 5666
  scenes.push_back(scene("ERR-04", answered(with_byte(call(2), 7, 9), with_byte(err_vers(2), 7, 8)),
                         answered(with_byte(call(2), 7, 9), with_byte(err_vers(2), 7, 9))));
  scenes.back().both = {"HDR-03", "ERR-04"};
  scenes.back().variant = "unknown-version";
  // The error counts as an answer; the connection continues.
  const auto goes_on = [](std::uint8_t version) {
    return [version](Scene& s) {
      Connection& c = s.connect();
      c.exchange(1);
      c.send(kClient, with_byte(call(2), 7, 9));
      c.send(kServer, with_byte(err_vers(2), 7, version));
      c.exchange(3);
    };
  };
  scenes.push_back(scene("ERR-04", goes_on(8), goes_on(9)));
  scenes.back().both = {"HDR-03", "ERR-04"};
  scenes.back().variant = "answered";
}

// A version 2 Call with a marker that is not 0 or 1.
auto malformed_in_version2(const Message& answer) {
  return [answer](Scene& s) {
    Connection& c = s.connect();
    c.call(version2(call(1)));
    c.reply(version2(reply(1)));
    c.send(kClient, with_byte(version2(call(2)), 27, 9));
    c.reply(answer);
  };
}

void add_causes(Scenes& scenes) {
  scenes.push_back(scene("HDR-04", malformed_in_version2(err_chunk(2)),
                         malformed_in_version2(version2(err_chunk(2)))));
  scenes.back().both = {"V2-08"};
  scenes.back().variant = "malformed";
  scenes.push_back(scene("ERR-01", answered(call(2), {encode(err_chunk(3)), encode(reply(2))}),
                         answered(call(2), {encode(err_chunk(2))})));
  // rdma_proc 7 does not exist.
  scenes.push_back(scene("ERR-05", answered(with_byte(call(2), 15, 7), encode(reply(2))),
                         answered(with_byte(call(2), 15, 7), encode(err_chunk(2)))));
  scenes.back().both = {"HDR-05"};
  scenes.push_back(scene("ERR-05", answered(with_byte(call(2), 7, 9), encode(err_chunk(2))),
                         answered(with_byte(call(2), 7, 9), encode(err_vers(2)))));
  scenes.back().both = {"HDR-03"};
  scenes.back().variant = "version";
  const Message v2 = version2(call(2));
  scenes.push_back(
      scene("ERR-05", answered(v2, {encode(err_chunk(2))}), answered(v2, {encode(err_vers(2))})));
  scenes.back().variant = "version-2";
  scenes.push_back(scene("ERR-05", answered(call(2), {encode(err_vers(2, 1, 1))}),
                         answered(call(2), {encode(err_chunk(2))})));
  scenes.back().variant = "supported";
  Message garbage = reply(2);
  garbage.rpc = Xdr().u32(2).u32(1).u32(0).u32(0).u32(0).u32(4).bytes();  // GARBAGE_ARGS
  scenes.push_back(scene("ERR-05", answered(with_byte(call(2), 7, 9), encode(garbage)),
                         answered(with_byte(call(2), 7, 9), encode(err_vers(2)))));
  scenes.back().both = {"HDR-03"};
  scenes.back().variant = "version-reply";
  // Nothing answers the message; the connection continues.
  const auto passed_over = [](bool refused) {
    return [refused](Scene& s) {
      Connection& c = s.connect();
      c.exchange(1);
      c.send(kClient, with_byte(call(2), 15, 7));
      if (refused) c.reply(err_chunk(2));
      c.exchange(3);
    };
  };
  scenes.push_back(scene("ERR-05", passed_over(false), passed_over(true)));
  scenes.back().both = {"HDR-05"};
  scenes.back().variant = "no-error";
  scenes.push_back(scene("ERR-07", answered(call(2), {encode(err_chunk(2)), encode(reply(2))}),
                         answered(call(2), {encode(err_chunk(2))})));
}

// The client resends a refused Call.
auto again(const Message& second) {
  return [second](Scene& s) {
    Connection& c = s.connect();
    c.exchange(1);
    Message m = call(2);
    m.reply_chunk = std::vector<wire::Segment>{{0x100, 1000, 0}};
    c.call(m);
    c.reply(err_chunk(2));
    c.call(second);
    c.reply(err_chunk(2));
  };
}

void add_repetition(Scenes& scenes) {
  Message registered_again = call(2);
  registered_again.reply_chunk = std::vector<wire::Segment>{{0x101, 1000, 0}};
  Message with_more_room = call(2);
  with_more_room.reply_chunk = std::vector<wire::Segment>{{0x101, 2000, 0}};
  scenes.push_back(
      {.rule = "ERR-07", .breaks = again(registered_again), .keeps = again(with_more_room)});
  scenes.back().variant = "again";
}

void add_errors_to_answers(Scenes& scenes) {
  scenes.push_back({.rule = "ERR-06",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.send(kClient, err_chunk(1));
                        },
                    .keeps = answered(call(2), {encode(err_chunk(2))})});
  scenes.push_back({.rule = "ERR-06",
                    .guilty = Guilty::kClient,
                    .breaks =
                        [](Scene& s) {
                          Connection& c = s.connect();
                          c.exchange(1);
                          c.call(call(2));
                          c.reply(err_chunk(2));
                          c.send(kClient, err_chunk(2));
                        },
                    .keeps = answered(call(2), {encode(err_chunk(2))}),
                    .variant = "error"});
}

}  // namespace

void add_error_scenes(Scenes& scenes) {
  add_forms(scenes);
  add_causes(scenes);
  add_repetition(scenes);
  add_errors_to_answers(scenes);
}

}  // namespace rpcrdma::scenes
