package store

import "io/fs"

// private accepts every folder: Windows keeps access in ACLs, which a folder
// inherits from the user's profile.
func private(string, fs.FileInfo) error { return nil }
