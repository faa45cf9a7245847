// Runs tests of widgets: they need a QApplication, and no display.
#include <QApplication>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>

namespace {

// Qt names the threads of its pools so.
bool pooled_thread_runs() {
  constexpr std::string_view kPooled = "(pooled)";
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name.find(kPooled) != std::string::npos) return true;
  }
  return false;
}

// ~QApplication stops the threads that paint, but does not join them: one may still hold the last
// reference to its data. If the process ends first, LeakSanitizer may report these data.
void wait_for_pooled_threads() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (pooled_thread_runs() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleMock(&argc, argv);
  int status = 0;
  {
    const QApplication application(argc, argv);
    status = RUN_ALL_TESTS();
  }
  wait_for_pooled_threads();
  return status;
}
