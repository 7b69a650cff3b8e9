/// What `sluice --version` says, and what metrics and answers call this build.
package enum Version {
    package static let current = "0.1.0"
}
