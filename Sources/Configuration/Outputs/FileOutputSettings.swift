package import Delivery
import Logs

/// What only a destination of kind file has.
package struct FileOutputSettings: Sendable, Equatable {
    /// When the file is put aside, and how many of those are kept.
    package struct Rotation: Sendable, Equatable {
        /// Absent, the file may have any size, or age.
        package var bytes: Int?
        package var age: Duration?
        package var keep = 10
        package var compression = FileTarget.Compression.none

        package init() {}
    }

    /// Nil only where it could not be read, which is reported.
    package var path: String?
    package var rotation = Rotation()
    var guarded = GuardedFiles()

    package init() {}

    func target(_ shape: LogJSON.Shape) -> FileTarget {
        guard let path else { preconditionFailure("checked when it was read") }
        var target = FileTarget(path: path)
        target.shape = shape
        target.guarded = guarded
        target.rotation = FileTarget.Rotation(
            bytes: rotation.bytes,
            age: rotation.age,
            keep: rotation.keep,
            compression: rotation.compression
        )
        return target
    }
}

extension FileOutputSettings: SettingGroup {
    static var settings: [Setting<FileOutputSettings>] {
        Setting("path", \.path, .path, default: "required") {
            "`/var/log/sluice/archive.ndjson`, to which a log a line is appended"
        }
        Setting(group: "rotate", \.rotation)
    }

    func check(_ section: borrowing Section) {
        if !section.has("path") {
            section.problem("path", "is missing; kind file appends logs to it")
        } else if let path, !path.hasPrefix("/") {
            section.problem("path", "is not absolute; write it as /var/log/sluice/archive.ndjson")
        } else if path != nil,
            let problem = target(.flat).problems.first(where: { $0.setting == "path" })
        {
            section.problem("path", problem.reason)
        } else if let reason = path.flatMap({ guarded.reasonNotToWrite(to: $0) }) {
            section.problem("path", "\(reason), which logs would destroy; choose another path")
        }
    }
}

extension FileOutputSettings.Rotation: SettingGroup {
    static var settings: [Setting<FileOutputSettings.Rotation>] {
        Setting("bytes", \.bytes, .size(1 << 20...1 << 40), default: "none: by age alone") {
            "a file that has so many is put aside"
        }
        Setting(
            "age",
            \.age,
            .duration(.seconds(60) ... .seconds(366 * 86_400)),
            default: "none: by size alone"
        ) {
            "so is one whose first log was written so long ago"
        }
        Setting("keep", \.keep, .count(1...10_000)) { "how many such files are kept" }
        Setting(
            "compress",
            \.compression,
            .choice(["none": .none, "gzip": .gzip, "zstd": .zstd])
        ) {
            "`gzip` or `zstd`: how they are compressed"
        }
    }
}
