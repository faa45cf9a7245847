// A translation is found by its locale, and speaks in menus, kinds and severities.
#include "kind_text.h"
#include "main_window.h"

#include <QCoreApplication>
#include <QFile>
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTranslator>
#include <QtEndian>
#include <map>

#include <gtest/gtest.h>

#include <rpcrdma/gui_text/translation.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

struct Entry {
  const char* context;
  const char* source;
  QString translation;
};

QByteArray number(quint32 n) {
  QByteArray bytes(4, '\0');
  qToBigEndian(n, bytes.data());
  return bytes;
}
QByteArray sized(char tag, const QByteArray& data) {
  return tag + number(static_cast<quint32>(data.size())) + data;
}

// The hash of Qt's .qm files.
quint32 hash_of(const char* text) {
  quint32 hash = 0;
  for (; *text != '\0'; ++text) {
    hash = (hash << 4) + static_cast<unsigned char>(*text);
    const quint32 high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash == 0 ? 1 : hash;
}

// A .qm file, as lrelease writes it.
QByteArray translation_file(const std::vector<Entry>& entries) {
  constexpr char kTranslation = 3, kSource = 6, kContext = 7, kEnd = 1;
  constexpr char kHashes = 0x42, kMessages = 0x69;
  QByteArray messages;
  std::multimap<quint32, quint32> places;
  for (const Entry& entry : entries) {
    places.emplace(hash_of(entry.source), messages.size());
    QByteArray text;
    for (const QChar c : entry.translation) {
      text += static_cast<char>(c.unicode() >> 8);
      text += static_cast<char>(c.unicode() & 0xff);
    }
    messages += sized(kTranslation, text) + sized(kSource, entry.source) +
                sized(kContext, entry.context) + kEnd;
  }
  QByteArray hashes;
  for (const auto& [hash, place] : places) hashes += number(hash) + number(place);
  return QByteArray::fromHex("3cb86418caef9c95cd211cbf60a1bddd") + sized(kHashes, hashes) +
         sized(kMessages, messages);
}

class Translation : public ::testing::Test {
 protected:
  ~Translation() override {
    for (auto* const t : qApp->findChildren<QTranslator*>()) delete t;
  }
  void write(const char* name, const QByteArray& bytes) {
    QFile file(folder.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  }
  QTemporaryDir folder;
};

TEST_F(Translation, AMenuAKindAndASeverityAreTranslated) {
  write("rpcrdma-gui_de.qm", translation_file({
                                 {"rpcrdma::gui::MainWindow", "&File", "&Datei"},
                                 {"rpcrdma::gui::Kind", "call", "Aufruf"},
                                 {"rpcrdma::gui::Severity", "error", "Fehler"},
                             }));
  const QString path = load_translation(QLocale("de_AT"), {"/nowhere", folder.path()});
  EXPECT_EQ(path, folder.filePath("rpcrdma-gui_de.qm"));
  QSettings settings(folder.filePath("settings"), QSettings::IniFormat);
  const MainWindow window(settings);
  EXPECT_EQ(window.menuBar()->actions().front()->text(), QString("&Datei"));
  EXPECT_EQ(kind_text(model::Kind::kCall), QString("Aufruf"));
  EXPECT_EQ(kind_text(model::Kind::kReply, true), QString("reverse reply"));
  EXPECT_EQ(severity_name(0), QString("Fehler"));
}

TEST_F(Translation, WithoutAFileTheTextsStayEnglish) {
  EXPECT_EQ(load_translation(QLocale("de_AT"), {folder.path()}), QString());
  EXPECT_EQ(kind_text(model::Kind::kCall), QString("call"));
}

TEST_F(Translation, ADamagedFileIsNotUsed) {
  const QByteArray whole = translation_file({{"rpcrdma::gui::Kind", "call", "Aufruf"}});
  write("rpcrdma-gui_de.qm", whole.left(whole.size() / 2));
  EXPECT_EQ(load_translation(QLocale("de"), {folder.path()}), QString());
  EXPECT_EQ(kind_text(model::Kind::kCall), QString("call"));
}

TEST_F(Translation, TheProgramLooksBesideItself) {
  EXPECT_EQ(translation_folders().size(), 2);
  EXPECT_EQ(translation_folders().front(), QCoreApplication::applicationDirPath());
}

}  // namespace
}  // namespace rpcrdma::gui
