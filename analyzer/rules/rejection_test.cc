#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/rules/rejection.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::rules {
namespace {

std::string data_text(const std::string& bytes) {
  return rejection_data(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

TEST(Rejection, ShowsItsPrivateData) {
  EXPECT_EQ(data_text(""), "");
  EXPECT_EQ(data_text(std::string("\0\0\0\4", 4)), "00000004 (4)");
  EXPECT_EQ(data_text("too many connections"), "\"too many connections\"");
  EXPECT_EQ(data_text("\x01\x02"), "0102");
  EXPECT_EQ(data_text(std::string(40, '\xff')).substr(60), "ffff... (40 B)");
  wire::PrivateData pd;
  pd.send_code = 3;
  const auto bytes = wire::encode_private_data(pd);
  EXPECT_EQ(rejection_data(bytes),
            "send 4096 B, receive 1024 B, remote invalidation no (RFC 8797)");
}

TEST(Rejection, AdvisesByItsReason) {
  roce::Connection c;
  std::vector<std::string> all;
  for (std::uint16_t reason = 0; reason < 64; ++reason) {
    c.reject_reason = reason;
    const char* const advice = rejection_advice(c);
    if (advice != nullptr) all.emplace_back(advice);
  }
  EXPECT_GE(all.size(), 32U);
  c.reject_reason = 8;
  c.service_id = 0x01064e51;  // RDMA IP CM, TCP port 20049
  EXPECT_NE(std::string(rejection_advice(c)).find("portlist"), std::string::npos);
  c.service_id = 0x01060801;  // port 2049
  EXPECT_NE(std::string(rejection_advice(c)).find("port=20049"), std::string::npos);
  c.reject_reason = 28;
  EXPECT_NE(std::string(rejection_advice(c)).find("log of the program"), std::string::npos);
  c.reject_reason = 99;
  EXPECT_EQ(rejection_advice(c), nullptr);
}

}  // namespace
}  // namespace rpcrdma::rules
