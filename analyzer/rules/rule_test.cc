#include <set>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {
namespace {

TEST(Rules, AreFoundByName) {
  for (const Rule& r : rules()) {
    ASSERT_NE(find_rule(r.name), nullptr) << r.name;
    EXPECT_EQ(find_rule(r.name)->id, r.id);
    EXPECT_EQ(&rule(r.id), &r);
  }
  EXPECT_EQ(find_rule("hdr-02")->id, RuleId::kHdr02);
  EXPECT_EQ(find_rule("HDR-0"), nullptr);
  EXPECT_EQ(find_rule(""), nullptr);
}

TEST(Rules, NamesAreUnique) {
  std::set<std::string> names;
  for (const Rule& r : rules()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
}

TEST(Rules, SentencesEndWithoutFullStop) {
  for (const Rule& r : rules()) {
    const std::string sentence = r.sentence;
    ASSERT_FALSE(sentence.empty()) << r.name;
    EXPECT_NE(sentence.back(), '.') << r.name;
    EXPECT_NE(sentence.back(), ' ') << r.name;
  }
}

}  // namespace
}  // namespace rpcrdma::rules
