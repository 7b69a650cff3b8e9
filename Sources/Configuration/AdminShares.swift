/// Divides places on the admin side among tokens: one token gets half of them, and those for
/// reading three quarters together. So nobody who may only look can keep others out.
package struct AdminShares: Sendable {
    package let all: Int
    package var ofToken: Int { all / 2 }
    package var ofReaders: Int { all * 3 / 4 }

    package init(_ all: Int) { self.all = all }

    /// Whether the holder may take a place beside those who have one.
    package func hasRoom(for holder: AdminHolder, beside others: [AdminHolder]) -> Bool {
        others.count < all
            && others.count { $0.name == holder.name } < ofToken
            && (holder.role == .full || others.count { $0.role != .full } < ofReaders)
    }
}
