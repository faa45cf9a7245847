// The crew with agents that are shell scripts: mute, mad, of another version, dead.
#include <cerrno>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <rpcrdma/load_agents/crew.h>

namespace rpcrdma::load_agents {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kVersion = "1.0 (test)";

// A shell command that prints a frame.
std::string print(FrameType type, const Body& body = {}) {
  std::vector<std::uint8_t> bytes;
  append_frame(bytes, type, body);
  std::string command = "printf '";
  for (const std::uint8_t b : bytes) command += fmt::format("\\{:03o}", b);
  return command + "'; ";
}
std::string hello(const std::string& version = kVersion) {
  return print(FrameType::kHello, Hello{kProtocol, version, "192.0.2.1"}.encode());
}

class AgentCrew : public ::testing::Test {
 protected:
  // The host of an agent is its number in `scripts_`.
  Crew& crew(std::vector<std::string> scripts) {
    scripts_ = std::move(scripts);
    std::vector<AgentName> names;
    for (std::size_t i = 0; i < scripts_.size(); ++i) {
      names.push_back({std::to_string(i), fmt::format("host{}", i)});
    }
    return crew(names);
  }
  Crew& crew(const std::vector<AgentName>& names) {
    options_.words = [this](const AgentName& name) {
      return std::vector<std::string>{"sh", "-c", scripts_.at(std::stoul(name.host))};
    };
    options_.version = kVersion;
    options_.print = [this](const std::string& line) { printed_.push_back(line); };
    crew_ = std::make_unique<Crew>(names, options_);
    return *crew_;
  }
  void TearDown() override {
    if (crew_) crew_->dismiss();
    crew_.reset();
    // No child is left, not even a zombie.
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
  // Turns until all have this state. Returns the frames.
  std::size_t turn_until_all(Crew::State state) {
    std::size_t frames = 0;
    const std::int64_t end = base::monotonic_ns() + 60 * base::kSecond;
    while (!crew_->all(state) && base::monotonic_ns() < end) {
      frames += crew_->turn(base::kSecond).size();
    }
    EXPECT_TRUE(crew_->all(state));
    return frames;
  }
  // The fate of the only agent.
  std::string fate(const std::string& script) {
    crew({script});
    turn_until_all(Crew::State::kLost);
    return crew_->why_lost(0);
  }

  CrewOptions options_;
  std::vector<std::string> scripts_;
  std::vector<std::string> printed_;
  std::unique_ptr<Crew> crew_;
};

TEST_F(AgentCrew, OneThatCannotBeReachedHasAReason) {
  EXPECT_EQ(fate("echo 'Permission denied (publickey).' >&2; exit 255"),
            "no agent began: sh ended with status 255: Permission denied (publickey).");
  EXPECT_THAT(printed_, ElementsAre("host0: Permission denied (publickey)."));
  EXPECT_EQ(crew_->how_lost(0), load_ranks::State::kDead);
  EXPECT_EQ(fate("exit 0"), "no agent began: sh ended with status 0, without a word");
  EXPECT_EQ(fate("echo Hi"), "no agent began: sh ended with status 0; it printed \"Hi\"");
  EXPECT_EQ(fate("kill -KILL $$"),
            "no agent began: sh was ended by signal 9 (Killed), without a word");
}

TEST_F(AgentCrew, AProgramThatIsNotThereIsAReason) {
  options_.words = nullptr;
  Crew& c = crew({"x"});
  (void)c;
  options_.words = [](const AgentName&) { return std::vector<std::string>{"/nonexistent/ssh"}; };
  crew_ = std::make_unique<Crew>(std::vector<AgentName>{{"a", "a"}}, options_);
  turn_until_all(Crew::State::kLost);
  EXPECT_EQ(crew_->why_lost(0), "/nonexistent/ssh: No such file or directory");
}

TEST_F(AgentCrew, ABannerIsSkippedAndMentioned) {
  crew({"echo Welcome; " + hello() + "cat >/dev/null"});
  turn_until_all(Crew::State::kHere);
  EXPECT_EQ(crew_->address(0), "192.0.2.1");
  EXPECT_THAT(printed_, ElementsAre("host0: ignored 8 bytes of text that it printed at login"));
}

TEST_F(AgentCrew, AnotherVersionIsRefusedWithBothNames) {
  EXPECT_EQ(fate(hello("0.9 (old)") + "cat >/dev/null"),
            "it runs rpcrdma 0.9 (old), and this is rpcrdma 1.0 (test): both must be the same "
            "version");
}

TEST_F(AgentCrew, AMuteOneIsStuck) {
  options_.reach = 100 * base::kMillisecond;
  EXPECT_EQ(fate("exec sleep 1000"), "no agent answered within 0.1 s");
  EXPECT_EQ(crew_->how_lost(0), load_ranks::State::kStuck);
  options_.reach = 30 * base::kSecond;
  options_.silence = 100 * base::kMillisecond;
  options_.farewell = 0;
  EXPECT_EQ(fate(hello() + "trap '' TERM; while :; do sleep 1; done"), "it sent nothing for 0.1 s");
  EXPECT_EQ(crew_->how_lost(0), load_ranks::State::kStuck);
}

TEST_F(AgentCrew, ADeadOneIsNamed) {
  EXPECT_EQ(fate(hello() + "sleep 0.01; echo oops >&2; exit 3"),
            "the agent ended early: sh ended with status 3: oops");
  EXPECT_EQ(crew_->how_lost(0), load_ranks::State::kDead);
}

TEST_F(AgentCrew, AMadOneIsRefused) {
  EXPECT_THAT(fate("yes"), HasSubstr("sends something else"));
  EXPECT_THAT(fate(hello() + "yes"), HasSubstr("something else has written"));
  EXPECT_THAT(fate(hello() + hello()), HasSubstr("wrong time"));
  EXPECT_THAT(fate(print(FrameType::kReady)), HasSubstr("wrong time"));
  EXPECT_THAT(fate(hello() + print(FrameType::kStop)), HasSubstr("of a coordinator"));
  EXPECT_THAT(fate(hello() + print(FrameType::kPong, Pong{1000, 0}.encode())),
              HasSubstr("what it was not asked"));
  EXPECT_THAT(fate(print(FrameType::kHello, {1, 2, 3})), HasSubstr("malformed"));
  EXPECT_EQ(fate(hello() + print(FrameType::kRefusal, Refusal{"no room"}.encode())), "no room");
  EXPECT_EQ(crew_->how_lost(0), load_ranks::State::kFailed);
}

TEST_F(AgentCrew, OneThatFloodsIsRefused) {
  crew({hello() + "while :; do " + print(FrameType::kReady) + "done"});
  EXPECT_LT(turn_until_all(Crew::State::kLost), 1000U);
  EXPECT_THAT(crew_->why_lost(0), HasSubstr("more than an agent"));
}

TEST_F(AgentCrew, LinesAreBounded) {
  crew({hello() + "yes line | head -n 5000 >&2; exit 1"});
  turn_until_all(Crew::State::kLost);
  crew_->dismiss();
  EXPECT_LT(printed_.size(), 110U);
  EXPECT_THAT(printed_, Contains("host0: 4900 more lines on its standard error"));
}

TEST_F(AgentCrew, LinesWithoutEndAreRefused) {
  EXPECT_EQ(fate(hello() + "yes >&2"), "it floods its standard error");
}

TEST_F(AgentCrew, ManyAtOneHostStartAFewAtATime) {
  options_.most_starting_of_host = 2;
  scripts_ = {hello() + "cat >/dev/null"};
  crew(std::vector<AgentName>(20, AgentName{"0", "host"}));
  turn_until_all(Crew::State::kHere);
  EXPECT_THAT(printed_, IsEmpty());
}

}  // namespace
}  // namespace rpcrdma::load_agents
