#include <gmock/gmock.h>

#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/kernel_endpoint/options.h>

namespace rpcrdma::kernel_endpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Parses words as the program does.
base::Expected<Plan> plan_of(const std::vector<std::string>& given) {
  command_line::Command program("rpcrdma-kernel", "");
  OptionText text;
  add_options(program, text);
  std::vector<const char*> argv{"rpcrdma-kernel"};
  for (const std::string& word : given) argv.push_back(word.c_str());
  const auto parsed = command_line::parse(program, static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(parsed.outcome, command_line::Parsed::Outcome::kRun) << parsed.text;
  // What the commands pass on is the same.
  std::vector<std::string> again = words(text);
  command_line::Command second("rpcrdma-kernel", "");
  OptionText same;
  add_options(second, same);
  argv.resize(1);
  for (const std::string& word : again) argv.push_back(word.c_str());
  EXPECT_EQ(command_line::parse(second, static_cast<int>(argv.size()), argv.data()).outcome,
            command_line::Parsed::Outcome::kRun);
  EXPECT_EQ(words(same), again);
  return parse(text);
}

std::string refusal(const std::vector<std::string>& given) {
  const auto plan = plan_of(given);
  EXPECT_FALSE(plan);
  return plan ? "" : plan.error().message;
}

TEST(KernelOptions, WithoutAnyBothSidesAreTracedWithEvents) {
  const Plan plan = plan_of({}).value();
  EXPECT_EQ(plan.source.mode, kernel::Mode::kEvents);
  EXPECT_FALSE(plan.source.filter.any());
  EXPECT_TRUE(plan.source.client);
  EXPECT_TRUE(plan.source.server);
  EXPECT_EQ(plan.name, "kernel");
  EXPECT_FALSE(plan.tracefs);
  EXPECT_THAT(words(OptionText()), IsEmpty());
  EXPECT_FALSE(FilterText().any());
}

TEST(KernelOptions, APeerIsAnAddressOrANetwork) {
  const auto filter = [](const char* peer) {
    return plan_of({"--peer", peer}).value().source.filter;
  };
  EXPECT_THAT(*filter("10.1.2.3").peer,
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3));
  EXPECT_EQ(filter("10.1.2.3").peer_prefix, 128);
  EXPECT_EQ(filter("10.1.2.0/24").peer_prefix, 120);
  EXPECT_EQ(filter("0.0.0.0/0").peer_prefix, 96);
  EXPECT_EQ(filter("fd00::/8").peer_prefix, 8);
  EXPECT_THAT(*filter("fd00::1").peer,
              ElementsAre(0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(refusal({"--peer", "server"}), HasSubstr("--peer server: not an IP address"));
  EXPECT_THAT(refusal({"--peer", "10.0.0.0/33"}), HasSubstr("from 0 to 32"));
  EXPECT_THAT(refusal({"--peer", "fd00::/129"}), HasSubstr("from 0 to 128"));
  EXPECT_THAT(refusal({"--peer", "10.0.0.0/"}), HasSubstr("prefix length"));
}

TEST(KernelOptions, ProgramsAndProceduresHaveNames) {
  const auto filter = [](std::vector<std::string> given) {
    return plan_of(given).value().source.filter;
  };
  EXPECT_EQ(filter({"--program", "nfs"}).program, 100003U);
  EXPECT_EQ(filter({"--program", "NFS_CB"}).program, 0x40000000U);
  EXPECT_EQ(filter({"--program", "100021"}).program, 100021U);
  EXPECT_EQ(filter({"--procedure", "read"}).procedure, 6U);
  EXPECT_EQ(filter({"--procedure", "read"}).program, 100003U);
  EXPECT_EQ(filter({"--procedure", "COMPOUND"}).procedure, 1U);
  EXPECT_EQ(filter({"--program", "mount", "--procedure", "mnt"}).procedure, 1U);
  EXPECT_EQ(filter({"--program", "395183", "--procedure", "7"}).procedure, 7U);
  EXPECT_THAT(refusal({"--program", "smb"}), HasSubstr("--program smb: not a number"));
  EXPECT_THAT(refusal({"--procedure", "reed"}), HasSubstr("procedure of NFS"));
  EXPECT_THAT(refusal({"--program", "mount", "--procedure", "read"}),
              HasSubstr("procedure of mount"));
}

TEST(KernelOptions, OthersAreParsed) {
  const Plan plan = plan_of({"--slower", "10ms",          "--errors",  "--qpn",
                             "0x12",     "--client",      "--tracefs", "--name",
                             "nfs",      "--record",      "a.pcapng",  "--record-files",
                             "3",        "--record-size", "1M",        "--user",
                             "nobody",   "--kernel-ring", "20Ki",      "-v"})
                        .value();
  EXPECT_EQ(plan.source.filter.slower_than_ns, 10'000'000);
  EXPECT_TRUE(plan.source.filter.only_errors);
  EXPECT_EQ(plan.source.filter.qpn, 0x12U);
  EXPECT_EQ(plan.filter, "--qpn=0x12 --slower=10ms --errors");
  EXPECT_TRUE(plan.source.client);
  EXPECT_FALSE(plan.source.server);
  EXPECT_TRUE(plan.tracefs);
  EXPECT_EQ(plan.name, "nfs");
  EXPECT_EQ(plan.record, "a.pcapng");
  EXPECT_EQ(plan.ring.files, 3U);
  EXPECT_EQ(plan.ring.file_bytes, 1'000'000U);
  EXPECT_EQ(plan.user, "nobody");
  EXPECT_EQ(plan.source.ring_bytes, 32768U);
  EXPECT_TRUE(plan.verbose);
  const Plan sums = plan_of({"--sums", "--metrics", "127.0.0.1:9464", "--server"}).value();
  EXPECT_EQ(sums.source.mode, kernel::Mode::kSums);
  EXPECT_EQ(sums.metrics->port, 9464);
  EXPECT_FALSE(sums.source.client);
}

TEST(KernelOptions, WhatCannotBeIsRefused) {
  EXPECT_THAT(refusal({"--slower", "soon"}), HasSubstr("--slower soon: not a duration"));
  EXPECT_THAT(refusal({"--qpn", "0"}), HasSubstr("--qpn 0: not a queue pair number"));
  EXPECT_THAT(refusal({"--qpn", "0x1000000"}), HasSubstr("not a queue pair number"));
  EXPECT_THAT(refusal({"--sums", "--errors"}), HasSubstr("cannot be used with --sums"));
  EXPECT_THAT(refusal({"--sums", "--slower", "1ms"}), HasSubstr("cannot be used with --sums"));
  EXPECT_THAT(refusal({"--sums", "--tracefs"}), HasSubstr("tracepoints have no sums"));
  EXPECT_THAT(refusal({"--metrics", "127.0.0.1:9464"}), HasSubstr("needs --sums"));
  EXPECT_THAT(refusal({"--sums", "--metrics", "localhost"}), HasSubstr("no port"));
  EXPECT_THAT(refusal({"--name", "a/b"}), HasSubstr("slash"));
  OptionText nameless;
  nameless.name.clear();
  EXPECT_EQ(parse(nameless).error().message, "--name: empty");
  EXPECT_THAT(refusal({"--record", "-"}), HasSubstr("needs a file"));
  EXPECT_THAT(refusal({"--kernel-ring", "4095"}), HasSubstr("--kernel-ring 4095: not a size"));
  EXPECT_THAT(refusal({"--kernel-ring", "2Gi"}), HasSubstr("--kernel-ring 2Gi: not a size"));
  EXPECT_THAT(refusal({"--record-files", "3"}), HasSubstr("--record FILE"));
}

}  // namespace
}  // namespace rpcrdma::kernel_endpoint
