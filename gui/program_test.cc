// The program itself: what it does with a command line that names something wrong, as a file
// manager's can. The window has its own tests.
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <gmock/gmock.h>

namespace {

using ::testing::HasSubstr;

constexpr int kBound = 30'000;  // ms

class GuiProgram : public ::testing::Test {
 protected:
  GuiProgram() {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("XDG_CONFIG_HOME", folder_.path());  // settings of its own
    environment.insert("XDG_RUNTIME_DIR", folder_.path());
    program_.setProcessEnvironment(environment);
  }
  ~GuiProgram() override {
    if (program_.state() == QProcess::NotRunning) return;
    program_.kill();
    program_.waitForFinished(kBound);
  }

  void start(const QStringList& arguments) { program_.start(RPCRDMA_GUI_PROGRAM, arguments); }
  [[nodiscard]] bool says(const QByteArray& text) {
    return QTest::qWaitFor(
        [&] {
          error_ += program_.readAllStandardError();
          return error_.contains(text);
        },
        kBound);
  }
  [[nodiscard]] int status() {
    EXPECT_TRUE(program_.waitForFinished(kBound));
    error_ += program_.readAllStandardError();
    return program_.exitStatus() == QProcess::NormalExit ? program_.exitCode() : -1;
  }

  QTemporaryDir folder_;
  QProcess program_;
  QByteArray error_;
};

TEST_F(GuiProgram, StaysWithTheReasonIfAFileCannotBeOpened) {
  start({"/nowhere/at/all.pcap"});
  EXPECT_TRUE(says("rpcrdma-gui: /nowhere/at/all.pcap: ")) << error_.toStdString();
  EXPECT_EQ(program_.state(), QProcess::Running);
}

TEST_F(GuiProgram, StaysWithTheReasonIfAnEndpointDoesNotRun) {
  start({"-a", "nosuch"});
  EXPECT_TRUE(says("nosuch")) << error_.toStdString();
  EXPECT_EQ(program_.state(), QProcess::Running);
}

TEST_F(GuiProgram, EndsAtOnceOnAWrongFilter) {
  start({"-Y", "rpcrdma.nosuch == 1", "/nowhere/at/all.pcap"});
  EXPECT_EQ(status(), 2);
  EXPECT_THAT(error_.toStdString(), HasSubstr("--filter: "));
}

TEST_F(GuiProgram, EndsAtOnceOnAWrongOption) {
  start({"--nosuch"});
  EXPECT_EQ(status(), 2);
  EXPECT_THAT(error_.toStdString(), HasSubstr("nosuch"));
}

TEST_F(GuiProgram, HelpAndVersionNeedNoWindow) {
  start({"--version"});
  EXPECT_EQ(status(), 0);
  EXPECT_THAT(program_.readAllStandardOutput().toStdString(), HasSubstr("rpcrdma-gui "));
}

}  // namespace
