package import Delivery
import Logs

/// What only a destination of kind file has.
extension FileTarget: SettingGroup {
    init() {
        self.init(path: "")
        rotation = Rotation()
    }

    static var settings: [Setting<FileTarget>] {
        Setting("path", \.givenPath, .path, default: "required") {
            "`/var/log/sluice/archive.ndjson`, to which a log a line is appended"
        }
        Setting(group: "rotate", \.rotation)
    }

    private var givenPath: String? {
        get { path.isEmpty ? nil : path }
        set { path = newValue ?? "" }
    }

    func check(_ section: borrowing Section) {
        if !section.has("path") {
            section.problem("path", "is missing; kind file appends logs to it")
        } else if path.isEmpty {
            // It could not be read, which is reported.
        } else if !path.hasPrefix("/") {
            section.problem("path", "is not absolute; write it as /var/log/sluice/archive.ndjson")
        } else if let problem = pathProblem {
            section.problem("path", problem)
        } else if let reason = guarded.reasonNotToWrite(to: path) {
            section.problem("path", "\(reason), which logs would destroy; choose another path")
        }
    }
}

extension FileTarget.Rotation: SettingGroup {
    init() { self.init(keep: 10) }

    static var settings: [Setting<FileTarget.Rotation>] {
        Setting("bytes", \.bytes, .size(1 << 20...1 << 40), default: "none: by age alone") {
            "a file that has so many is put aside"
        }
        Setting(
            "age",
            \.age,
            .duration(.seconds(60) ... .seconds(366 * 86_400)),
            default: "none: by size alone"
        ) { "so is one whose first log was written so long ago" }
        Setting("keep", \.keep, .count(1...10_000)) { "how many such files are kept" }
        Setting("compress", \.compression, .choice(["none": .none, "gzip": .gzip, "zstd": .zstd])) {
            "`gzip` or `zstd`: how they are compressed"
        }
    }
}
