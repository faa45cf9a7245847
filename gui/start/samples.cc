#include "samples.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace rpcrdma::gui {

namespace {

struct Known {
  const char* file;
  const char* title;
  const char* detail;
};

// gui/start/CMakeLists.txt says where they come from.
constexpr Known kKnown[] = {
    {"nfs-read.pcap", QT_TRANSLATE_NOOP("Samples", "A healthy NFS client"),
     QT_TRANSLATE_NOOP("Samples", "NFS 4.1: READ through Write chunks")},
    {"hung-server.pcap", QT_TRANSLATE_NOOP("Samples", "A server that hangs"),
     QT_TRANSLATE_NOOP("Samples", "4 Calls wait for 6 seconds")},
    {"loss.pcap", QT_TRANSLATE_NOOP("Samples", "Lost packets"),
     QT_TRANSLATE_NOOP("Samples", "Half of a READ is retransmitted")},
    {"few-credits.pcap", QT_TRANSLATE_NOOP("Samples", "Too few credits"),
     QT_TRANSLATE_NOOP("Samples", "No free credit for 95 % of the time")},
    {"refused-calls.pcap", QT_TRANSLATE_NOOP("Samples", "Refused Calls"),
     QT_TRANSLATE_NOOP("Samples", "The Reply chunks are too small")},
};

QDir folder() {
  if (const QString own = qEnvironmentVariable("RPCRDMA_SAMPLES"); !own.isEmpty()) return {own};
  return {QCoreApplication::applicationDirPath() + "/../share/rpcrdma-scope/samples"};
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> found;
  const QDir from = folder();
  for (const Known& known : kKnown) {
    if (!from.exists(known.file)) continue;
    found.push_back({QDir::cleanPath(from.absoluteFilePath(known.file)),
                     QCoreApplication::translate("Samples", known.title),
                     QCoreApplication::translate("Samples", known.detail)});
  }
  return found;
}

}  // namespace rpcrdma::gui
