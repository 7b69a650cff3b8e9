/// This build's version, shown by `sluice --version`, metrics and answers.
package enum Version {
    package static let current = "0.1.0"
}
