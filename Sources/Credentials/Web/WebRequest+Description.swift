// MARK: - Conformances

extension WebRequest: CustomStringConvertible, CustomReflectable {
    /// Address, head and form may each hold a secret.
    var description: String { "\(method) …" }
    var customMirror: Mirror { Mirror(self, children: ["method": method]) }
}
