#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/load_agents/agent_list.h>

namespace rpcrdma::load_agents {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> found;
  const auto agents = parse_agents(text);
  if (!agents) return {agents.error().message};
  for (const AgentName& agent : *agents) found.push_back(agent.name + "=" + agent.host);
  return found;
}

TEST(AgentList, NamesHostsAsMpirunDoes) {
  EXPECT_THAT(names("host1,host2"), ElementsAre("host1=host1", "host2=host2"));
  EXPECT_THAT(names("a:2,root@b,a"), ElementsAre("a=a", "a#2=a", "root@b=root@b", "a#3=a"));
  EXPECT_THAT(names("192.0.2.1:2"), ElementsAre("192.0.2.1=192.0.2.1", "192.0.2.1#2=192.0.2.1"));
  EXPECT_THAT(names("2001:db8::1,[fe80::1%eth0]:2"),
              ElementsAre("2001:db8::1=2001:db8::1", "fe80::1%eth0=fe80::1%eth0",
                          "fe80::1%eth0#2=fe80::1%eth0"));
}

TEST(AgentList, RefusesWhatSshOrAShellWouldTakeForMore) {
  for (const std::string text :
       {"", "a,", ",a", "-oProxyCommand=x", "a b", "a;b", "a\nb", "$(a)", "[a", "[a]b", "[a]:"}) {
    EXPECT_THAT(names(text), ElementsAre(HasSubstr("is not a host"))) << text;
  }
  for (const std::string text : {"a:0", "a:", "a:x", "a:-1", "a:2x", "a:99999999999999999999"}) {
    EXPECT_THAT(names(text), ElementsAre(HasSubstr("not a number of agents"))) << text;
  }
  EXPECT_EQ(names("a:512").size(), 512U);
  EXPECT_THAT(names("a:513"), ElementsAre("more than 512 agents"));
  EXPECT_THAT(names("a:512,b"), ElementsAre("more than 512 agents"));
}

TEST(AgentList, SplitsACommandAsAShellDoes) {
  EXPECT_THAT(*split_words("ssh -o BatchMode=yes"), ElementsAre("ssh", "-o", "BatchMode=yes"));
  EXPECT_THAT(*split_words("  ssh  -i 'my key' \"a \\\"b\" c\\ d ''"),
              ElementsAre("ssh", "-i", "my key", "a \"b", "c d", ""));
  EXPECT_THAT(split_words("ssh 'a").error().message, HasSubstr("has no end"));
  EXPECT_FALSE(split_words(" "));
  EXPECT_FALSE(split_words("''"));
}

TEST(AgentList, QuotesForAShell) {
  EXPECT_EQ(quote_word("/usr/bin/rpcrdma"), "/usr/bin/rpcrdma");
  EXPECT_EQ(quote_word(""), "''");
  EXPECT_EQ(quote_word("a b"), "'a b'");
  EXPECT_EQ(quote_word("it's $(x)"), "'it'\\''s $(x)'");
  EXPECT_EQ(quote_word("~/rpcrdma"), "'~/rpcrdma'");
}

}  // namespace
}  // namespace rpcrdma::load_agents
