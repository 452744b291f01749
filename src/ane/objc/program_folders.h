// The folders that the compiler service reads programs from: TEMPORARY/HEX/{model.mil, weights/w.bin}.
//
// The framework fixes the name, so two programs of equal text and weights share one folder, also between processes. Here each folder is
// counted within the process, guarded between processes, readable by its owner only, and removed when its last user lets go. What a killed
// process left behind is removed at the next start:
//
//   TEMPORARY/anedvd-PID-N/        one a process: its scratch folder, too
//     alive                        locked while the process lives; the system drops the lock whatever way it ends
//     HEX.owned                    one for each folder the process made
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ane/driver.h"

namespace anedvd::objc {

class ProgramFolders {
 public:
  // Makes the process's own folder in `temporary` and removes what dead processes left there. Error: kIo.
  static Result<std::unique_ptr<ProgramFolders>> open(const std::filesystem::path& temporary);
  // Removes everything that is left.
  ~ProgramFolders();
  ProgramFolders(const ProgramFolders&) = delete;
  ProgramFolders& operator=(const ProgramFolders&) = delete;

  const std::filesystem::path& scratch() const { return own_; }

  // Writes the program's folder, or counts one more user of it. The weight file is moved in. A folder that another living process holds is
  // waited for: it goes after that process's load. Errors: a name that is none, kIo, kDevice when the wait takes longer than a minute.
  Result<> acquire(const std::string& hex, std::string_view mil, WeightFile weights);
  // Counts one user less; the last one removes the folder.
  void release(const std::string& hex);

  // Moves the weight file of a folder back to scratch(); if others use the folder still, they keep it and the file gets a second name.
  Result<WeightFile> take_weights(const std::string& hex);

  // Users of a folder, 0 when there is none.
  int users(const std::string& hex) const;

 private:
  struct Folder {
    int users = 0;
    WeightFile weights;
  };

  ProgramFolders() = default;
  Result<> lay_out(const std::string& hex, std::string_view mil, WeightFile& weights);
  bool held_by_another(const std::string& hex) const;

  std::filesystem::path temporary_, own_;
  int alive_ = -1;  // descriptor that holds the lock
  std::map<std::string, Folder> folders_;
  int taken_ = 0;  // names of files taken back
};

}  // namespace anedvd::objc
