// Hostile bytes: a decoder keeps its promises to the sink for any input.
#include "messages_for_tests.h"
#include "support/checking_sink.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::decode {
namespace {

using Data = std::vector<std::uint8_t>;

constexpr ProcedureId kCompound{kProgNfs, 4, 1};

// Exactly as many bytes as the message, so that a sanitizer detects a read past their end.
Data front(const Data& data, std::size_t size) {
  Data copy(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
  copy.shrink_to_fit();
  return copy;
}

unsigned errors_in_message(const Data& data) {
  CheckingSink sink(data.size());
  decode_message(data, sink, &kCompound);
  EXPECT_EQ(sink.problem(), "");
  return sink.errors();
}

// Bytes up to the end of the last header; the arguments or results after it can end anywhere.
std::size_t header_bytes(const Data& data) {
  const auto header = wire::decode_header(data);
  EXPECT_TRUE(header.has_value());
  const bool rpc_follows = header->proc == wire::Proc::kMsg || header->proc == wire::Proc::kMsgp;
  if (!rpc_follows) return header->length;
  const auto rpc = wire::decode_rpc(wire::Bytes(data).subspan(header->length));
  EXPECT_TRUE(rpc.has_value());
  return header->length + rpc->length;
}

TEST(Robustness, WholeMessagesHaveNoErrors) {
  for (const std::string_view hex : kMessages)
    EXPECT_EQ(errors_in_message(from_hex(hex)), 0U) << hex;
}

TEST(Robustness, EveryTruncationOfAHeaderIsAnError) {
  for (const std::string_view hex : kMessages) {
    const Data data = from_hex(hex);
    const std::size_t headers = header_bytes(data);
    for (std::size_t size = 0; size < data.size(); ++size) {
      EXPECT_EQ(errors_in_message(front(data, size)), size < headers ? 1U : 0U)
          << hex << " " << size;
    }
  }
}

TEST(Robustness, EveryTruncationOfAMadIsAnError) {
  for (const std::string_view hex : kMads) {
    const Data data = mad_from_hex(hex);
    for (std::size_t size = 0; size <= data.size(); ++size) {
      const Data mad = front(data, size);
      CheckingSink sink(mad.size());
      decode_cm(mad, sink);
      EXPECT_EQ(sink.problem(), "");
      EXPECT_EQ(sink.errors(), size < data.size() ? 1U : 0U) << hex << " " << size;
    }
  }
}

TEST(Robustness, EveryTruncationOfPrivateDataIsAnError) {
  const Data data = from_hex("f6ab0e1801010303");
  for (std::size_t size = 0; size <= data.size(); ++size) {
    const Data cut = front(data, size);
    CheckingSink sink(cut.size());
    decode_private_data(cut, sink);
    EXPECT_EQ(sink.problem(), "");
    EXPECT_EQ(sink.errors(), size < data.size() ? 1U : 0U) << size;
  }
}

class Mutator {
 public:
  Data operator()(Data data) {
    const unsigned changes = 1 + random_() % 4;
    for (unsigned i = 0; i < changes && !data.empty(); ++i) {
      const std::size_t at = random_() % data.size();
      const std::size_t word = at & ~std::size_t{3};  // counts and lengths are words
      switch (random_() % 4) {
        case 0:
          data[at] = static_cast<std::uint8_t>(random_());
          break;
        case 1:
          fill(data, word, random_() % 2 != 0 ? 0xff : 0x00);
          break;
        case 2:
          fill(data, word, 0);
          data[std::min(word + 3, data.size() - 1)] = static_cast<std::uint8_t>(random_() % 8);
          break;
        default:
          data.resize(at);
          break;
      }
    }
    data.shrink_to_fit();
    return data;
  }

 private:
  static void fill(Data& data, std::size_t word, std::uint8_t value) {
    for (std::size_t i = word; i < std::min(word + 4, data.size()); ++i) data[i] = value;
  }

  std::mt19937 random_{1};  // the same mutations in every run
};

TEST(Robustness, MutatedMessagesKeepThePromises) {
  Mutator mutate;
  for (const std::string_view hex : kMessages) {
    const Data data = from_hex(hex);
    for (int i = 0; i < 3000; ++i) {
      const Data mutated = mutate(data);
      for (const ProcedureId* call : {static_cast<const ProcedureId*>(nullptr), &kCompound}) {
        CheckingSink sink(mutated.size());
        decode_message(mutated, sink, call);
        ASSERT_EQ(sink.problem(), "") << hex << " " << i;
      }
    }
  }
}

TEST(Robustness, MutatedMadsKeepThePromises) {
  Mutator mutate;
  for (const std::string_view hex : kMads) {
    const Data data = mad_from_hex(hex);
    for (int i = 0; i < 3000; ++i) {
      const Data mutated = mutate(data);
      CheckingSink sink(mutated.size());
      decode_cm(mutated, sink);
      ASSERT_EQ(sink.problem(), "") << hex << " " << i;
    }
  }
}

TEST(Robustness, TextIsPrintableAndJsonCanBeDumped) {
  Mutator mutate;
  const Data data = from_hex(kWriteCall);
  for (int i = 0; i < 2000; ++i) {
    const Data mutated = mutate(data);
    std::string text;
    TextSink text_sink(text);
    decode_message(mutated, text_sink);
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
    JsonSink json_sink;
    decode_message(mutated, json_sink);
    ASSERT_NO_THROW(static_cast<void>(json_sink.take().dump()));
  }
}

}  // namespace
}  // namespace rpcrdma::decode
